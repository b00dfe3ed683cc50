"""How much is done in one turn: a second or so, whatever the model and the recipe."""

from __future__ import annotations

import pytest

from nnfuzz.hunting.prepare import GRADIENTS, TURN_ROWS, mutants_a_turn


@pytest.mark.parametrize("recipe", ["dlfuzz", "deepxplore"])
def test_gradients_make_shorter_turns(recipe: str) -> None:
    lenet, resnet = (400_000, 8_000), (40_000_000, 200_000)
    for work, activations in (lenet, resnet):
        assert mutants_a_turn(recipe, work, activations) == mutants_a_turn("random", work, activations) // GRADIENTS
    assert mutants_a_turn("random", *lenet) == TURN_ROWS
    assert mutants_a_turn("random", *resnet) < TURN_ROWS


@pytest.mark.parametrize("recipe", ["elites", "deepxplore"])
def test_the_slowest_model_gets_a_few(recipe: str) -> None:
    assert mutants_a_turn(recipe, 10**15, 1) == mutants_a_turn(recipe, 1, 10**12) == 16
