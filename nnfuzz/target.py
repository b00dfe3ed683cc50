"""The models under test: the only place that knows devices, dtypes, normalisation and batch sizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor, nn

from nnfuzz.blame import blaming, is_out_of_memory
from nnfuzz.chunks import Chunk, as_chunk, as_seen, joined, pixels
from nnfuzz.errors import ModelRaised, NnfuzzError
from nnfuzz.layout import placed, plainly, swift, usable
from nnfuzz.probe import Layer, Probe, chosen, discover, incoming, scaled
from nnfuzz.records import Model, Seen

ACTIVATIONS_AT_ONCE = {"cpu": 2**24}  # more does not run faster; elsewhere memory is the limit
ACTIVATIONS_ELSEWHERE = 2**28
SMALL = 2**22  # multiplications for an input
HUNG = -1  # in Seen.raised: not run, since a model once hung on it

Guard = Callable[[Tensor], AbstractContextManager[Any]]
Refused = Callable[[Tensor], Tensor]  # inputs -> [B] bool


class Target:
    """`target(x) -> Seen` for one model or several. `read` says whose neurons are read: side by side in the models'
    order (`spans`).

    Networks are put in evaluation mode for as long as the target is open and leave in the mode they came
    in. One that has to move to another device or dtype is copied, never changed.
    """

    def __init__(
        self,
        models: Sequence[Model] | Model,
        example: Tensor,
        *,
        device: str | torch.device = "cpu",
        dtype: torch.dtype = torch.float32,
        batch_size: int | None = None,
        every_layer: bool = False,
        only: Sequence[str] = (),
        exclude: Sequence[str] = (),
        probabilities: bool = True,
        features: Sequence[str] = (),
        read: Sequence[int] = (0,),
    ) -> None:
        self.models = (models,) if isinstance(models, Model) else tuple(models)
        if batch_size is not None and batch_size < 1:
            raise NnfuzzError(f"expected a batch size from 1 up and came {batch_size}; give a larger one")
        self.device, self.dtype = usable(device), dtype
        nets = [placed(model.net, self.device, self.dtype) for model in self.models]
        self._modes = [(m, m.training) for net in nets for m in net.modules()]
        for net in nets:
            net.eval()
        self._closed = False
        self._affine = [self._normalisation(model) for model in self.models]
        traced = [self._traced(net, example, i, every_layer and i == 0) for i, net in enumerate(nets)]
        self._own = nets
        self._nets = [
            swift(net, self._feed(example[:2], i), [layer.parts for layer in layers])
            for i, (net, layers) in enumerate(zip(nets, traced, strict=True))
        ]
        self._probes = {i: Probe(self._nets[i], chosen(traced[i], only, exclude), features) for i in sorted(read)}
        self.classes = self._classes(example[:1])
        # Keras counts the softmax as a layer of its own, and so do the papers' 52 / 148 / 268 neurons.
        self._softmax = [probabilities and model.output == "logits" and not only for model in self.models]
        shown = [self._layers(i) for i in self._probes]
        self.layers = tuple(layer for layers in shown for layer in layers)
        self.spans = _spans([sum(layer.neurons for layer in layers) for layers in shown])
        self.neurons = self.spans[-1].stop
        self.work = max(1, sum(layer.work for layers in traced for layer in layers))
        self.activations = max(1, sum(layer.elements for layers in traced for layer in layers))
        self.penultimate = self._penultimate(shown[0], self._softmax[min(self._probes)])
        self.complaints: list[str] = []  # what models raised; see Seen.raised
        self.refused: Refused | None = None  # inputs that must not be run again, since a model hung on them
        self.guard: Guard = nullcontext  # entered around every pass, with its inputs
        room = ACTIVATIONS_AT_ONCE.get(self.device.type, ACTIVATIONS_ELSEWHERE)
        self.batch_size = batch_size or max(8, min(512, room // self.activations))

    def _traced(self, net: nn.Module, example: Tensor, index: int, every_layer: bool) -> list[Layer]:
        with blaming(self.models[index]):
            return discover(net, self._feed(example[:1], index), every_layer)

    def _normalisation(self, model: Model) -> tuple[Tensor, Tensor] | None:
        mean, std = (torch.tensor(v, device=self.device, dtype=self.dtype) for v in (model.mean, model.std))
        if not mean.any() and bool((std == 1).all()):
            return None
        return mean[:, None, None], std[:, None, None]

    def _feed(self, x: Tensor, index: int) -> Tensor:
        """What the network reads: pixels / 255, normalised."""
        fed = x.to(self.device, self.dtype) / 255
        if affine := self._affine[index]:
            fed = fed.sub_(affine[0]).div_(affine[1]) if not fed.requires_grad else (fed - affine[0]) / affine[1]
        return fed

    def _logits(self, x: Tensor, index: int, own: bool = False) -> Tensor:
        """Of one model; with `own`, of the network as it came."""
        model, net = self.models[index], (self._own if own else self._nets)[index]
        with blaming(model):
            out = net(self._feed(x, index))
        if not isinstance(out, Tensor) or out.dim() != 2 or len(out) != len(x) or not out.is_floating_point():
            came = f"{out.dtype} {tuple(out.shape)}" if isinstance(out, Tensor) else f"a {type(out).__name__}"
            raise NnfuzzError(
                f"expected model {model.name} to return one row of class scores per image, and it returned {came};"
                " wrap it in a module that returns its logits"
            )
        return out if model.output == "logits" else out.clamp_min(torch.finfo(out.dtype).tiny).log()

    def _classes(self, x: Tensor) -> int:
        with torch.no_grad():
            counts = [self._logits(x, i).shape[1] for i in range(len(self.models))]
        if len(set(counts)) > 1:
            raise NnfuzzError(f"the models tell {', '.join(map(str, counts))} classes apart; they must agree")
        return counts[0]

    def _layers(self, index: int) -> tuple[Layer, ...]:
        """What is read of one model. The others' layers are told from the first one's by the model's name."""
        layers = self._probes[index].layers
        if self._softmax[index]:
            layers = (*layers, Layer("softmax", self.classes, self.classes))
        return tuple(replace(x, name=f"{self.models[index].name}:{x.name}") for x in layers) if index else layers

    def _penultimate(self, layers: Sequence[Layer], softmax: bool) -> slice:
        """The neurons of the layer before the scores: what the model sees, in its own terms."""
        layers = layers[:-1] if softmax else layers
        layers = layers[:-1] if len(layers) > 1 and layers[-1].neurons == self.classes else layers
        start = sum(layer.neurons for layer in layers[:-1])
        return slice(start, start + layers[-1].neurons if layers else 0)

    def _attempt(self, x: Tensor) -> Chunk:
        """One pass. If the model raises, half the rows at a time, until those that it raises on stand alone."""
        try:
            with self.guard(pixels(x)):
                return self._execute(x)
        except ModelRaised as error:
            if len(x) > 1:
                parts = [self._attempt(half) for half in (x[: len(x) // 2], x[len(x) // 2 :])]
                return joined(parts)
            return self._nothing(x, self._complaint(error))

    def _complaint(self, error: ModelRaised) -> int:
        """Its number, from 1 up; the same words have the same."""
        if str(error) not in self.complaints:
            self.complaints.append(str(error))
        return self.complaints.index(str(error)) + 1

    def _nothing(self, x: Tensor, raised: int) -> Chunk:
        """In place of answers."""
        nan = torch.full((len(x), self.neurons), torch.nan, device=self.device, dtype=self.dtype)
        logits = nan.new_full((len(self.models), len(x), self.classes), torch.nan)
        scales = any(probe.scale for probe in self._probes.values())
        return logits, nan, nan if scales else None, torch.full((len(x),), raised)

    def _execute(self, x: Tensor) -> Chunk:
        logits, means, scales = list[Tensor](), list[Tensor](), list[Tensor]()
        for index in range(len(self.models)):
            probe = self._probes.get(index)
            with probe or nullcontext():
                logits.append(self._logits(x, index))
            if probe:
                mean, scale = probe.heard()
                if self._softmax[index]:
                    mean.append(p := logits[index].softmax(1))
                    scale += [scaled(p.detach(), p.detach())] * probe.scale
                means, scales = means + mean, scales + scale
        raised = torch.zeros(len(x), dtype=torch.int64)
        return torch.stack(logits), torch.cat(means, 1), torch.cat(scales, 1) if scales else None, raised

    def __call__(self, x: Tensor, grad: bool = False) -> Seen:
        """Run every model on [B, ...] inputs; with `grad`, what comes back can be differentiated."""
        refused = self.refused(pixels(x)) if self.refused else None
        if refused is None or not refused.any():
            return self._run(x, grad)
        found = joined([as_chunk(self._run(x[~refused], grad)), self._nothing(x[refused], HUNG)])
        order = torch.cat([(~refused).nonzero(), refused.nonzero()]).flatten().argsort()
        return as_seen(found)[order]

    def alone(self, x: Tensor) -> Seen:
        """Each input in a pass of its own, through the networks as they came. No neurons are read, which would take
        nearly as long again."""
        small = self.device.type == "cpu" and self.work < SMALL
        with plainly() if small else nullcontext():
            one_by_one = [self._scores(x[row : row + 1]) for row in range(len(x))]
        if not one_by_one:
            return self(x)
        logits, raised = zip(*one_by_one, strict=True)
        none = torch.empty(len(x), 0)
        return Seen(torch.cat(logits, 1).cpu(), none, {"raised": torch.tensor(raised)} if any(raised) else {})

    def _scores(self, x: Tensor) -> tuple[Tensor, int]:
        """[M,1,K] of one input, and 0, or the number of the complaint in place of scores."""
        try:
            with self.guard(x), torch.no_grad():
                return torch.stack([self._logits(x, i, own=True) for i in range(len(self.models))]), 0
        except ModelRaised as error:
            return self._nothing(x, number := self._complaint(error))[0], number

    def _run(self, x: Tensor, grad: bool) -> Seen:
        with torch.set_grad_enabled(grad):
            chunks: list[Chunk] = []
            start = 0
            while start < len(x) or not chunks:
                try:
                    chunks.append(self._attempt(x[start : start + self.batch_size]))
                except Exception as error:
                    if not is_out_of_memory(error) or self.batch_size == 1:
                        raise
                    self.batch_size //= 2  # remembered: the next call does not run into the wall again
                    continue
                start += len(chunks[-1][1])
                if not len(x):
                    break
            return as_seen(joined(chunks))

    def weights(self) -> Tensor:
        """[N] the mean weight of what comes in to each neuron; NaN where nothing is weighed."""
        found = []
        for index, probe in self._probes.items():
            found.append(incoming(self._nets[index], probe.layers))
            if self._softmax[index]:
                found.append(torch.full((self.classes,), torch.nan))
        return torch.cat(found)

    def close(self) -> None:
        """Take the hooks off and put every module back in its mode."""
        if not self._closed:
            self._closed = True
            for probe in self._probes.values():
                probe.close()
            for module, training in self._modes:
                module.training = training

    def __enter__(self) -> Target:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _spans(sizes: Sequence[int]) -> tuple[slice, ...]:
    return tuple(slice(stop - size, stop) for size, stop in zip(sizes, accumulate(sizes), strict=True))
