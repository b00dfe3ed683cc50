"""What goes into single passes, and what they gave, put together."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from nnfuzz.records import Seen

Chunk = tuple[Tensor, Tensor, Tensor | None, Tensor]  # logits [M,B,K], neurons [B,N], scaled ones, raised [B]


def joined(chunks: Sequence[Chunk]) -> Chunk:
    logits, means, scaled, raised = zip(*chunks, strict=True)
    return torch.cat(logits, 1), torch.cat(means), None if scaled[0] is None else torch.cat(scaled), torch.cat(raised)


def as_seen(chunk: Chunk) -> Seen:
    logits, means, scaled, raised = chunk
    features = {} if scaled is None else {"scaled": scaled}
    return Seen(logits.cpu(), means, {**features, "raised": raised} if raised.any() else features)


def as_chunk(seen: Seen) -> Chunk:
    return seen.logits.to(seen.neurons.device), seen.neurons, seen.features.get("scaled"), seen.raised


def pixels(x: Tensor) -> Tensor:
    """As they are stored: what is differentiated comes in floats."""
    return x if x.dtype == torch.uint8 else x.detach().to(torch.uint8)
