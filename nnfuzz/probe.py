"""Which outputs inside a network count as neurons, and hooks that read them.

A layer is what the papers call one: a convolution or linear map together with the normalisation and
activation that directly follow it, a pooling, an addition. A neuron is an output channel, its value
the mean over the channel's positions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

import torch
from torch import Tensor, nn

from nnfuzz.errors import NnfuzzError

IGNORED = (nn.Flatten, nn.Unflatten, nn.Identity, nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d)
CHANNELS_LAST = (nn.Linear, nn.LayerNorm)  # token models: [B,T,C], [B,H,W,C]
FOLLOWS = (
    "batchnorm",
    "normalization",
    "instancenorm",
    "activation",
)  # modules of torch.nn that finish a layer
NOT_FOLLOWING = (nn.Softmax, nn.LogSoftmax, nn.Softmax2d, nn.Softmin, nn.MultiheadAttention)


@dataclass(frozen=True)
class Layer:
    """One probed output: the `call`-th time that module `name` runs in a forward pass."""

    name: str
    neurons: int
    elements: int  # activations per input, before the mean
    work: int = 0  # multiplications per input
    call: int = 0
    channel: int = 1
    parts: tuple[str, ...] = ()  # the modules it is made of, in order

    def __str__(self) -> str:
        return self.name if not self.call else f"{self.name}#{self.call + 1}"


def reduce(out: Tensor, channel: int) -> Tensor:
    """[B, ...] -> [B, C]: the mean over positions; always a tensor of its own, since a later in-place
    activation would rewrite a captured one."""
    if out.dim() == 2:
        return out.clone()
    positions = tuple(range(2, out.dim()) if channel == 1 else range(1, out.dim() - 1))
    # The same number as mean(), but its gradient is divided here, before it is spread over all positions.
    return out.sum(positions) / math.prod(out.shape[i] for i in positions)


def scaled(out: Tensor, means: Tensor) -> Tensor:
    """The means after the layer's whole output was brought to [0, 1], input by input (DeepXplore sec. 4.1).

    Scaling is affine, so the mean of the scaled values is the scaled mean. A constant layer gives 0.
    """
    whole = tuple(range(1, out.dim()))  # not flattened, which would copy what lies channels-last
    low, high = out.amin(whole)[:, None], out.amax(whole)[:, None]
    return torch.where(high > low, (means - low) / (high - low).clamp_min(torch.finfo(out.dtype).tiny), 0.0)


def _multiplications(module: nn.Module, out: Tensor) -> int:
    """Every position of the output meets every weight once: exact for convolutions and linear maps."""
    weight = getattr(module, "weight", None)
    if not isinstance(weight, Tensor) or weight.dim() < 2:
        return 0
    return out[0].numel() // weight.shape[0] * weight.numel()


class _Trace:
    """One forward pass on an example, noting for each leaf module what it read and what it gave."""

    def __init__(self, net: nn.Module, every: bool) -> None:
        self.every = every
        self.layers: list[Layer] = []
        self.calls: dict[str, int] = {}
        self.last: list[tuple[Tensor, int]] = []  # the layers' outputs and their version when given
        self.leaves = [(name, m) for name, m in net.named_modules() if not any(m.children()) and name]
        if not self.leaves:
            self.leaves = [("net", net)]

    def follows(self, module: nn.Module, read: object, version: int) -> int | None:
        """The layer that this module finishes. A tensor changed since (a residual added in place) starts anew."""
        kind = type(module).__module__.rpartition(".")[2]
        if self.every or kind not in FOLLOWS or isinstance(module, NOT_FOLLOWING):
            return None
        return next((i for i, (out, v) in enumerate(self.last) if out is read and v == version), None)

    def note(self, name: str, module: nn.Module, read: object, version: int, out: object) -> None:
        call = self.calls.get(name, 0)
        self.calls[name] = call + 1
        usable = isinstance(out, Tensor) and out.dim() >= 2 and out.is_floating_point()
        if not usable or isinstance(module, IGNORED):
            return
        assert isinstance(out, Tensor)
        earlier = self.follows(module, read, version)
        work = _multiplications(module, out)
        parts: tuple[str, ...] = (name,)
        if earlier is None:
            channel = -1 if isinstance(module, CHANNELS_LAST) and out.dim() > 2 else 1
        else:
            self.last.pop(earlier)
            finished = self.layers.pop(earlier)
            channel, parts, work = finished.channel, (*finished.parts, name), finished.work + work
        self.layers.append(Layer(name, out.shape[channel], out[0].numel(), work, call, channel, parts))
        self.last.append((out, out._version))

    def run(self, net: nn.Module, example: Tensor) -> list[Layer]:
        read: dict[str, tuple[object, int]] = {}
        hooks = []

        def before(name: str, args: tuple[object, ...]) -> None:
            first = args[0] if args else None
            read[name] = (first, first._version if isinstance(first, Tensor) else 0)

        for name, module in self.leaves:
            hooks += [
                module.register_forward_pre_hook(lambda _m, args, name=name: before(name, args)),
                module.register_forward_hook(lambda m, _a, out, name=name: self.note(name, m, *read[name], out)),
            ]
        try:
            with torch.no_grad():
                net(example)
        finally:
            for hook in hooks:
                hook.remove()
        return self.layers


def discover(net: nn.Module, example: Tensor, every: bool = False) -> list[Layer]:
    """All layers of a network, found by running it once on `example` (already on its device, normalised).

    `every` counts each module's output by itself, as DeepHunter's 2,570 neurons of ResNet-20 do.
    """
    return _Trace(net, every).run(net, example)


def incoming(net: nn.Module, layers: Sequence[Layer]) -> Tensor:
    """[N] the mean weight that each neuron sums its inputs with; NaN where a layer has none, like a pooling."""
    modules, found = dict(net.named_modules()), [torch.empty(0)]
    for layer in layers:
        weights = (getattr(modules.get(name), "weight", None) for name in layer.parts or (layer.name,))
        fitting = (w for w in weights if isinstance(w, Tensor) and w.dim() > 1 and len(w) == layer.neurons)
        weight = next(fitting, torch.full((layer.neurons, 1), torch.nan))
        found.append(weight.detach().flatten(1).mean(1).float().cpu())
    return torch.cat(found)


def chosen(layers: Sequence[Layer], only: Sequence[str], exclude: Sequence[str]) -> list[Layer]:
    """Those whose names fit a pattern ("features.*") of `only`, if there are any, and none of `exclude`.

    A layer also has the names of the modules it is made of: the convolution's as well as its activation's.
    """

    def named(layer: Layer, patterns: Sequence[str]) -> bool:
        return any(fnmatchcase(name, p) for name in (layer.name, *layer.parts) for p in patterns)

    fitting = [layer for layer in layers if (not only or named(layer, only)) and not named(layer, exclude)]
    if only and not fitting:
        names = ", ".join(dict.fromkeys(layer.name for layer in layers))
        raise NnfuzzError(f"no layer is named like {', '.join(only)}; the network has {names}")
    return fitting


class Probe:
    """Hooks on the chosen layers, registered once, silent except inside `with probe:`."""

    def __init__(self, net: nn.Module, layers: Sequence[Layer], features: Sequence[str] = ()) -> None:
        self.layers = tuple(layers)
        self.scale = "scaled" in features
        self._listening = False
        self._calls: dict[str, int] = {}
        self._means: dict[tuple[str, int], Tensor] = {}
        self._scaled: dict[tuple[str, int], Tensor] = {}
        modules = dict(net.named_modules())
        wanted: dict[str, dict[int, int]] = {}
        for layer in self.layers:
            wanted.setdefault(layer.name, {})[layer.call] = layer.channel
        self._hooks = [
            modules.get(name, net).register_forward_hook(
                lambda _m, _a, out, name=name, calls=calls: self._hear(name, calls, out)
            )
            for name, calls in wanted.items()
        ]

    def _hear(self, name: str, calls: dict[int, int], out: Tensor) -> None:
        if not self._listening:
            return
        call = self._calls.get(name, 0)
        self._calls[name] = call + 1
        if call in calls:
            means = self._means[name, call] = reduce(out, calls[call])
            if self.scale:
                self._scaled[name, call] = scaled(out.detach(), means.detach())

    def __enter__(self) -> Probe:
        self._listening = True
        self._calls.clear()
        return self

    def __exit__(self, *_: object) -> None:
        self._listening = False

    def heard(self) -> tuple[list[Tensor], list[Tensor]]:
        """What the last pass showed, layer after layer: means, and scaled means if they were asked for."""
        order = [(layer.name, layer.call) for layer in self.layers]
        means = [self._means.pop(key) for key in order]
        return means, [self._scaled.pop(key) for key in order] if self.scale else []

    def close(self) -> None:
        for hook in self._hooks:
            hook.remove()
