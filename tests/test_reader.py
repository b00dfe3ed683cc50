"""A reader: the network's own scores, whatever rows are beside each other, and the network left as it was."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from nnfuzz import models
from nnfuzz.errors import NnfuzzError
from nnfuzz.reader import Reader, Tapped
from nnfuzz.records import Model
from tests.conftest import generator

TYPES = [torch.float64, torch.float32, torch.bfloat16]


def digits(rows: int) -> Tensor:
    return torch.randint(0, 256, (rows, 1, 28, 28), dtype=torch.uint8, generator=generator(0))


@pytest.mark.parametrize("name", ["guard", "referee-stacked", "referee-residual", "referee-mixer"])
def test_it_reads_what_the_network_says(name: str) -> None:
    model, x = models.build(name, seed=1), digits(20)
    with torch.no_grad():
        wanted = model.net(x / 255)
    assert torch.allclose(Reader(model, x)(x), wanted, atol=1e-4)
    assert torch.allclose(Reader(model, x, dtype=None)(x), wanted, atol=0.05)


@pytest.mark.parametrize("dtype", TYPES)
def test_rows_are_read_as_if_alone(dtype: torch.dtype) -> None:
    model, x = models.build("guard", seed=1), digits(40)
    if dtype == torch.float64:
        model.net.double()
    read = Reader(model, x, dtype=dtype)
    together = read(x)
    assert (together == torch.cat([read(x[i : i + 1]) for i in range(40)])).all()
    assert (together[3:10] == read(x[3:10])).all()
    assert read(x[:0]).shape == (0, 10)
    assert together.dtype == torch.float32


def test_the_network_is_left_as_it_was(tiny: Model, images: Tensor) -> None:
    before = models.digest(tiny.net)
    Reader(tiny, images, dtype=torch.bfloat16)(images)
    assert tiny.net.training
    assert models.digest(tiny.net) == before
    assert not any(m._forward_hooks for m in tiny.net.modules())


def test_probabilities_become_scores(tiny: Model, images: Tensor) -> None:
    soft = Model(nn.Sequential(tiny.net.eval(), nn.Softmax(1)), "soft", output="probabilities")
    assert torch.allclose(Reader(soft, images)(images).softmax(1), Reader(tiny, images)(images).softmax(1), atol=1e-5)


def test_normalisation_is_the_model_s(images: Tensor) -> None:
    model = Model(nn.Sequential(nn.Flatten(), nn.Linear(64, 3)), "linear", (0.4,), (0.2,))
    with torch.no_grad():
        wanted = model.net((images / 255 - 0.4) / 0.2)
    assert torch.allclose(Reader(model, images)(images), wanted, atol=1e-5)


def test_up_to_a_layer(tiny: Model, images: Tensor) -> None:
    net = tiny.net.eval()
    with torch.no_grad():
        wanted = net.relu2(net.bn2(net.conv2(net.pool(net.relu1(net.conv1(images / 255))))))
    read = Reader(Model(Tapped(net, "relu2"), "tapped"), images)
    assert torch.allclose(read(images), wanted.flatten(1), atol=1e-4)


def test_images_that_do_not_fit(tiny: Model) -> None:
    with pytest.raises(NnfuzzError, match=r"tiny to give scores for images of 3x9x9 and came RuntimeError"):
        Reader(tiny, torch.zeros(2, 3, 9, 9, dtype=torch.uint8))
