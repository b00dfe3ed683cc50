"""The look before a run: what it says of a model, and what it does not blame it for."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from nnfuzz.preflight import examine, shortened
from nnfuzz.records import Model
from nnfuzz.target import Target


class Scores(nn.Module):
    """Two scores, and something that makes them vary."""

    def __init__(self, varies: str) -> None:
        super().__init__()
        self.fc, self.varies = nn.Linear(64, 2), varies

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.fc(x.flatten(1))
        if self.varies == "chance":
            return out + torch.rand(len(x), 1) / 1000
        if self.varies == "batch":  # as float32 does, with another order of sums for another batch size
            return out + len(x) * 1e-6
        return out


@pytest.mark.parametrize(("varies", "same"), [("nothing", True), ("batch", True), ("chance", False)])
def test_random_is_what_answers_the_same_batch_differently(varies: str, same: bool, images: Tensor) -> None:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        target = Target(Model(Scores(varies), varies), images)
        looked = examine(target, images, torch.zeros(64, dtype=torch.int64), "eval")
    assert looked.deterministic is same
    said = dict(looked.lines())["answers"]
    assert said == ("the same when asked again" if same else "DIFFERENT when asked again")


def test_it_says_which_layers_are_probed(target: Target, images: Tensor) -> None:
    looked = examine(target, images, torch.zeros(64, dtype=torch.int64), "eval")
    assert dict(looked.lines())["probed"] == "20 neurons in 5 layers: relu1, pool, relu2, fc, softmax"
    assert shortened([str(i) for i in range(54)]) == "0, 1, 2, 3, 4, …, 49, 50, 51, 52, 53"
