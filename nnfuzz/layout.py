"""Where and how a network lies in memory. The user's own one is never moved: what has to change is copied."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.backends import mkldnn
from torch.nn.utils.fusion import fuse_conv_bn_eval

from nnfuzz.errors import NnfuzzError


def usable(device: str | torch.device) -> torch.device:
    """The device, if this machine has it."""
    try:
        made = torch.zeros(1, device=device)
        made.item()  # of a meta device nothing can be read
        return made.device
    except (RuntimeError, AssertionError) as error:
        raise NnfuzzError(f"expected a device that this machine has and came {str(device)[:40]!r}") from error


def placed(net: nn.Module, device: torch.device, dtype: torch.dtype) -> nn.Module:
    """The network on this device in this dtype."""
    at_home = all(p.device == device and (p.dtype == dtype or not p.is_floating_point()) for p in net.parameters())
    return net if at_home else copy.deepcopy(net).to(device, dtype)


def swift(net: nn.Module, x: Tensor, chains: Sequence[Sequence[str]]) -> nn.Module:
    """The network with channels-last convolutions, the normalisations that follow them folded in, and poolings by half
    done in fewer words, which a CPU runs up to half as fast again; or as it is, if it has no convolutions, or then
    fails on `x` (a `view` on its maps), or gives other answers. `chains` names modules of which each directly follows
    the one before."""
    if x.device.type != "cpu" or not any(isinstance(m, nn.Conv2d) for m in net.modules()):
        return net
    try:
        fast = copy.deepcopy(net).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        _fold(fast, chains)
        _halve(fast)
        with torch.no_grad():
            same = torch.allclose(fast(x), net(x), rtol=1e-3, atol=1e-4, equal_nan=True)
    except Exception:  # whatever a network may raise: it is run as it is, and blamed there if it fails again
        return net
    return fast if same else net


class Halved(nn.Module):
    """The largest of each 2 by 2: twice as fast as max_pool2d here, which also looks for its place. Where somebody
    differentiates it is asked all the same, since equal values share a gradient differently."""

    def forward(self, x: Tensor) -> Tensor:
        if x.requires_grad:
            return torch.max_pool2d(x, 2)
        x = x[..., : x.shape[-2] // 2 * 2, : x.shape[-1] // 2 * 2]
        rows = torch.maximum(x[..., ::2, :], x[..., 1::2, :])
        return torch.maximum(rows[..., ::2], rows[..., 1::2])


def _halve(net: nn.Module) -> None:
    for name, module in list(net.named_modules()):
        if type(module) is nn.MaxPool2d and name and _by_half(module):
            _put(net, name, Halved())


def _by_half(pool: nn.MaxPool2d) -> bool:
    sizes = (pool.kernel_size, pool.stride, pool.padding, pool.dilation)
    plain = all(size in (wanted, (wanted, wanted)) for size, wanted in zip(sizes, (2, 2, 0, 1), strict=True))
    return plain and not pool.ceil_mode and not pool.return_indices


def _fold(net: nn.Module, chains: Sequence[Sequence[str]]) -> None:
    """Scale and shift weights instead of maps, wherever a convolution and a normalisation only meet each other."""
    times = Counter(name for chain in chains for name in chain)
    for chain in chains:
        for name, follower in pairwise(chain):
            if times[name] == times[follower] == 1:
                _fold_pair(net, name, follower)


def _fold_pair(net: nn.Module, name: str, follower: str) -> None:
    conv, norm = net.get_submodule(name), net.get_submodule(follower)
    if type(conv) is nn.Conv2d and type(norm) is nn.BatchNorm2d and norm.running_mean is not None:
        _put(net, name, fuse_conv_bn_eval(conv, norm))
        _put(net, follower, nn.Identity())  # something stays, so that a hook there still hears the layer


def _put(net: nn.Module, name: str, module: nn.Module) -> None:
    home, _, last = name.rpartition(".")
    setattr(net.get_submodule(home), last, module)


def quick(device: str) -> torch.dtype:
    """The type in which a device runs networks of one's own fastest: bfloat16 where it multiplies matrices of it."""
    if device == "cpu":
        can = torch.cpu.get_capabilities()
        return torch.bfloat16 if can.get("amx_bf16") or can.get("avx512_bf16") else torch.float32
    return torch.bfloat16 if device.startswith("cuda") else torch.float32


@contextmanager
def plainly() -> Iterator[None]:
    """Inside, neither oneDNN nor a second thread is used: for one small image their preparations take longer than its
    convolutions."""
    before, threads = mkldnn.enabled, torch.get_num_threads()
    mkldnn.enabled = False  # type: ignore[assignment]
    torch.set_num_threads(1)
    try:
        yield
    finally:
        mkldnn.enabled = before
        torch.set_num_threads(threads)
