"""Values from JSON against the annotations of a dataclass."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from math import isfinite
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

Record = TypeVar("Record")


def typed(record: type[Record], given: Mapping[str, Any], **others: Any) -> Record:
    """The record with these values, lists as tuples; TypeError for the first that is not of its type."""
    hints = get_type_hints(record)
    names = {one.name for one in fields(record)} - set(others)  # type: ignore[arg-type]
    if unknown := set(given) - names - set(others):
        raise TypeError(f"unknown {min(unknown)[:40]!r}")
    values = {name: value for name, value in given.items() if name in names}
    for name, value in values.items():
        if not fits(value, hints[name]):
            raise TypeError(f"{name} of another type")
    return record(**others, **{name: tuple(v) if isinstance(v, list) else v for name, v in values.items()})


def fits(value: Any, hint: Any) -> bool:
    origin, of = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return any(fits(value, one) for one in of)
    if origin is tuple:
        wanted = of[:1] * len(value) if isinstance(value, list) and of[-1] is ... else of
        return isinstance(value, list) and len(value) == len(wanted) and all(map(fits, value, wanted))
    if origin is Mapping:
        return isinstance(value, dict) and all(fits(one, of[1]) for one in value.values())
    if hint in (int, float):
        number = isinstance(value, int if hint is int else int | float) and not isinstance(value, bool)
        return number and abs(value) < 2**63 and isfinite(value)
    return hint is Any or isinstance(value, hint)
