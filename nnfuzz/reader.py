"""A network that is asked what it reads, tens of thousands of times a second; what is tested is a Target's business."""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn

from nnfuzz.errors import NnfuzzError
from nnfuzz.layout import placed, quick, swift
from nnfuzz.probe import discover
from nnfuzz.records import Model

ROWS, ACTIVATIONS_AT_ONCE = 128, 2**24


class Reader:
    """`read(x)`: uint8 [B,C,H,W] -> float32 scores [B,K], row by row whatever rows are beside them.

    Every pass has the same number of rows, the last one filled up: matrix kernels are chosen by that number, and sum in
    another order for another one.
    `dtype` None: bfloat16 where the processor multiplies matrices of it, which is several times as fast; else float32.
    In bfloat16 the last layer is still summed in float64, so that scores are fine enough to compare.
    """

    def __init__(
        self, model: Model, example: Tensor, device: str = "cpu", dtype: torch.dtype | None = torch.float32
    ) -> None:
        self.name, self.output = model.name, model.output
        self.device, self.dtype = torch.device(device), dtype or quick(device)
        first = next((p for p in model.net.parameters()), torch.empty(0)).dtype
        net = placed(copy.deepcopy(model.net).eval(), self.device, first)
        self._mean, self._std = (
            torch.tensor(v, device=self.device, dtype=torch.float32).view(-1, 1, 1) for v in (model.mean, model.std)
        )
        try:
            with torch.no_grad():
                layers = discover(net, self._fed(example[:1]).to(first))
                net = swift(net, self._fed(example[:2]).to(first), [layer.parts for layer in layers])
                self._net = _in(net, self.dtype)
                self.batch_size = max(
                    8, min(ROWS, ACTIVATIONS_AT_ONCE // max(1, sum(layer.elements for layer in layers)))
                )
                self.classes = self(example[:1]).shape[1]
        except Exception as error:
            raise NnfuzzError(
                f"expected {model.name} to give scores for images of {'x'.join(map(str, example.shape[1:]))} and came "
                f"{type(error).__name__}: {error}; give a model that takes such images"
            ) from error

    def _fed(self, x: Tensor) -> Tensor:
        return (x.to(self.device, torch.float32) / 255 - self._mean) / self._std

    def __call__(self, x: Tensor) -> Tensor:
        if not len(x):
            return torch.zeros(0, self.classes)
        with torch.no_grad():
            out = torch.cat([self._pass(part) for part in torch.split(x, self.batch_size)])
        out = out if self.output == "logits" else out.clamp_min(torch.finfo(torch.float32).tiny).log()
        return out.cpu()

    def _pass(self, x: Tensor) -> Tensor:
        fed = self._fed(torch.cat([x, x.new_zeros(self.batch_size - len(x), *x.shape[1:])]))
        out: Tensor = self._net(fed.to(self.dtype))
        return out[: len(x)].float()

    def __repr__(self) -> str:
        return self.name


class Exact(nn.Module):
    """A linear layer in float64."""

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.linear = copy.deepcopy(linear).double()

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.linear(x.double())
        return out


def _in(net: nn.Module, dtype: torch.dtype) -> nn.Module:
    """The network in this type, its last linear layer in float64."""
    net = net.to(dtype)
    if dtype != torch.bfloat16:
        return net
    last = [name for name, module in net.named_modules() if isinstance(module, nn.Linear)][-1:]
    for name in last:
        home, _, own = name.rpartition(".")
        setattr(net.get_submodule(home), own, Exact(net.get_submodule(name)))  # type: ignore[arg-type]
    return net


class Tapped(nn.Module):
    """The network up to one of its layers: what that layer gave, one row an image."""

    def __init__(self, net: nn.Module, layer: str) -> None:
        super().__init__()
        self.net, self.layer = net, layer

    def forward(self, x: Tensor) -> Tensor:
        heard: list[Tensor] = []
        # A hook for this pass only: one that stays would be the original's in every copy of the network.
        hook = self.net.get_submodule(self.layer).register_forward_hook(lambda _m, _i, out: heard.append(out.clone()))
        try:
            self.net(x)
        finally:
            hook.remove()
        return heard[-1].flatten(1)
