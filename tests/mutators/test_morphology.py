from __future__ import annotations

import cv2
import numpy as np
import pytest
import torch

from nnfuzz.mutators import dilate, erode
from nnfuzz.mutators.morphology import KERNELS

PAIRS = [(erode(), cv2.erode), (dilate(), cv2.dilate)]


@pytest.mark.parametrize("shape", [(1, 28, 28), (3, 32, 32), (1, 7, 11), (3, 3, 2), (1, 1, 5), (1, 1, 1)])
@pytest.mark.parametrize("kind", range(1, 8))
@pytest.mark.parametrize(("operator", "theirs"), PAIRS, ids=["erode", "dilate"])
def test_agrees_with_opencv_up_to_the_border(operator, theirs, kind, shape):
    x = torch.randint(0, 256, (5, *shape), dtype=torch.uint8, generator=torch.Generator().manual_seed(kind))
    made = operator.apply(x, torch.full((5, 1), float(kind), dtype=torch.float64)).permute(0, 2, 3, 1).numpy()
    for image, mine in zip(x.permute(0, 2, 3, 1).numpy(), made, strict=True):
        kernel = np.ones(KERNELS[kind - 1], np.uint8)
        assert np.array_equal(mine, theirs(np.ascontiguousarray(image), kernel).reshape(image.shape))


@pytest.mark.parametrize("kind", range(1, 8))
@pytest.mark.parametrize("operator", [erode(), dilate()], ids=lambda o: o.name)
def test_a_share_never_changes_more(operator, kind):
    x = torch.randint(0, 256, (1, 1, 12, 12), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    weaker = operator.weaken(torch.tensor([float(kind)]), torch.linspace(0.01, 1, 30, dtype=torch.float64))
    made = operator.apply(x.expand(30, -1, -1, -1), weaker)
    moved = (made.int() - x.int()).abs()
    assert bool((moved[1:] >= moved[:-1]).all())
    assert moved[0].sum() == 0
    assert weaker[-1] == kind
