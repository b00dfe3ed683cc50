"""What a recipe's parameters may be. Users set them with --set, so what makes no sense is said in one sentence."""

from __future__ import annotations

from collections.abc import Collection
from math import isfinite

from nnfuzz.errors import NnfuzzError


def positive(**given: float) -> None:
    """Finite numbers above 0; of whole ones, from 1 up."""
    for name, value in given.items():
        if not (value > 0 and isfinite(value)):
            raise NnfuzzError(f"expected {name} above 0, and came {value}")


def from_zero(**given: float) -> None:
    """Numbers from 0 up; inf is one."""
    for name, value in given.items():
        if not value >= 0:
            raise NnfuzzError(f"expected {name} from 0 up, and came {value}")


def bound(**given: float) -> None:
    """Numbers above 0; inf is no bound."""
    for name, value in given.items():
        if not value > 0:
            raise NnfuzzError(f"expected {name} above 0, and came {value}")


def share(**given: float) -> None:
    """Numbers from 0 to 1."""
    for name, value in given.items():
        if not 0 <= value <= 1:
            raise NnfuzzError(f"expected {name} from 0 to 1, and came {value}")


def named(names: Collection[str], **given: str) -> None:
    """One of these names."""
    for name, value in given.items():
        if value not in names:
            raise NnfuzzError(f"expected {name} to be one of {', '.join(names)}, and came {value!r}")
