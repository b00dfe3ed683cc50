"""Where and how a network lies in memory. The user's own one is never moved: what has to change is copied."""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn


def placed(net: nn.Module, device: torch.device, dtype: torch.dtype) -> nn.Module:
    """The network on this device in this dtype."""
    at_home = all(p.device == device and (p.dtype == dtype or not p.is_floating_point()) for p in net.parameters())
    return net if at_home else copy.deepcopy(net).to(device, dtype)


def swift(net: nn.Module, x: Tensor) -> nn.Module:
    """The network with channels-last convolutions, which a CPU runs up to a fifth faster; or as it is, if it has
    none or then fails on `x` (a `view` on its maps), or gives other answers."""
    if x.device.type != "cpu" or not any(isinstance(m, nn.Conv2d) for m in net.modules()):
        return net
    try:
        fast = copy.deepcopy(net).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        with torch.no_grad():
            same = torch.allclose(fast(x), net(x), rtol=1e-3, atol=1e-4, equal_nan=True)
    except Exception:  # whatever a network may raise: it is run as it is, and blamed there if it fails again
        return net
    return fast if same else net
