"""One search of DLFuzz or DeepXplore on a few images, measured as the papers do."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from nnfuzz import budget
from nnfuzz.campaign import Campaign
from nnfuzz.coverage import NC, Cover
from nnfuzz.hunting import ORACLES
from nnfuzz.hunting.ask import USUAL
from nnfuzz.recipes import RECIPES
from nnfuzz.records import Batch, Kind
from nnfuzz.tally import fingerprints
from nnfuzz.target import Target
from nnfuzz.validity import relative_l2

THRESHOLD = 0.5  # of neuron coverage


@dataclass(frozen=True, eq=False)
class Searched:
    """What came out of it. Neurons are those of the model under test alone."""

    numbers: dict[str, Any]
    x: Tensor = field(repr=False)  # the different inputs that were found
    seed: Tensor = field(repr=False)  # the image each was made from, as its place among the images searched
    reached: Tensor = field(repr=False)  # [images,N] neurons that an image and all that was made from it covered


def search(
    recipe: str, target: Target, images: Batch, options: Mapping[str, Any], seed: int,
    stopped: Callable[[], bool] = lambda: False, enough: int | None = None,
) -> Searched:  # fmt: skip
    """Walk from these images until the lists are empty, or `enough` inputs are found."""
    campaign = _campaign(recipe, target, images, options, seed)
    aside = campaign.admit()
    seen = _Seen(target, images)
    wall, busy = time.perf_counter(), time.process_time()
    for step in budget.until(campaign.steps(), stopped):
        seen.read(step.children, step.seen.features["scaled"], step.verdict)
        if enough is not None and seen.found >= enough:
            break
    spent = time.perf_counter() - wall, time.process_time() - busy
    return seen.result(campaign, spent, len(aside))


def warm(recipe: str, target: Target, images: Batch, options: Mapping[str, Any]) -> None:
    """Run it once, so that what is timed is the search and not its first touch of everything."""
    search(recipe, target, images, {**options, "rounds": 1}, 0)


def _campaign(recipe: str, target: Target, images: Batch, options: Mapping[str, Any], seed: int) -> Campaign:
    cover = Cover(NC(target.neurons, THRESHOLD, buckets=1))
    return RECIPES[recipe](images, target, cover, ORACLES[USUAL[recipe]], rng=seed, **options)


class _Seen:
    """Reads the steps: the different inputs found, and which neurons of the first model were covered by what."""

    def __init__(self, target: Target, images: Batch) -> None:
        self.target, self.images = target, images
        self.place = {number: place for place, number in enumerate(images.seed.tolist())}
        self.before = self._covered(target(images.x).features["scaled"])
        self.reached, self.of_found = self.before.clone(), torch.zeros_like(self.before[0])
        self.keys, self.tries = set[int](), 0
        self.kept: list[tuple[Tensor, Tensor]] = [(images.x[:0], images.seed[:0])]

    @property
    def found(self) -> int:
        return len(self.keys)

    def _covered(self, scaled: Tensor) -> Tensor:
        return (scaled[:, self.target.spans[0]] > THRESHOLD).cpu()

    def read(self, children: Batch, scaled: Tensor, verdict: Tensor) -> None:
        covered, wrong = self._covered(scaled), (verdict > Kind.NOTHING).nonzero().flatten()
        place = torch.tensor([self.place[number] for number in children.seed.tolist()], dtype=torch.int64)
        self.reached |= torch.zeros(self.reached.shape).index_add_(0, place, covered.float()) > 0
        self.of_found |= covered[wrong].any(0)
        keys = dict(zip(reversed(fingerprints(children.x[wrong]).tolist()), reversed(wrong.tolist()), strict=True))
        first = sorted(row for key, row in keys.items() if key not in self.keys)
        self.keys.update(keys)
        rows = torch.tensor(first, dtype=torch.int64)
        self.kept.append((children.x[rows], place[rows]))
        self.tries += len(children)

    def result(self, campaign: Campaign, spent: tuple[float, float], aside: int) -> Searched:
        x, place = (torch.cat(parts) for parts in zip(*self.kept, strict=True))
        again = Batch(x, self.images.label[place], self.images.seed[place], place, self._answers(place))
        verdict = campaign.oracle(again, self.target.alone(x)) if len(x) else place
        numbers = {
            "images": len(self.images), "set_aside": aside, "executed": self.tries, "found": len(x),
            "images_hit": len(torch.unique(place)), "fail_again": int((verdict > Kind.NOTHING).sum()),
            "l2": float(relative_l2(x, self.images.x[place]).mean()) if len(x) else None,
            "seconds": spent[0], "cpu_seconds": spent[1],
            "neurons": self.before.shape[1], "nc_before": _share(self.before.any(0)), "nc_found": _share(self.of_found),
            "nc": _share(self.before.any(0) | self.of_found), "nc_executed": _share(self.reached.any(0)),
        }  # fmt: skip
        return Searched(numbers, x, place, self.reached)

    def _answers(self, place: Tensor) -> dict[str, Tensor]:
        return {"answer": self.target(self.images.x).answer[place]}


def _share(covered: Tensor) -> float:
    return covered.double().mean().item()
