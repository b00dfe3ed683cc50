"""Options that mean the same in every command."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Annotated

import typer

from nnfuzz.errors import NnfuzzError

if TYPE_CHECKING:
    from nnfuzz.opening import Settings

MODEL = (
    "zoo-name@weights.safetensors, file.py:function, package.module:function, torchvision:NAME, or with --trust-model a"
    " file that holds a whole network (.pt2, TorchScript, pickled)"
)
DATA = "A data-set name, a folder of class folders, a folder with labels.csv, or an .npz file"

Model = Annotated[str, typer.Argument(metavar="MODEL", help=MODEL, show_default=False)]
Data = Annotated[str, typer.Option("--data", metavar="DATA", help=DATA, show_default=False)]
Seconds = Annotated[float | None, typer.Option(min=0, help="Stop after this long; set-up is not counted")]
Tries = Annotated[int | None, typer.Option(min=1, help="Stop after this many mutants")]
Seeds = Annotated[int, typer.Option(min=1, help="How many images to start from, picked at random")]
AllSeeds = Annotated[
    int | None, typer.Option(min=1, help="How many images to start from [default: all]", show_default=False)
]
Fidelity = Annotated[
    str,
    typer.Option(
        help="Which mutants are fair questions: label (a guard still reads them), gan (a discriminator finds them"
        " as real as their seed), gan-calibrated, consistent (the model itself reads jittered copies), ssim, features,"
        " none"
    ),
]
Threshold = Annotated[
    float | None, typer.Option(help="Of the fidelity: label 0.5, ssim 0.5, features 0.8, …", show_default=False)
]
Guard = Annotated[
    str | None, typer.Option(metavar="MODEL", help="The guard, instead of one trained for you", show_default=False)
]
Referee = Annotated[
    str | None,
    typer.Option(
        metavar="MODELS", show_default=False,
        help="Independent models, with commas; asked after the search whether findings still show their label",
    ),
]  # fmt: skip
Seed = Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Of the random generator: the same seed finds the same")]
Out = Annotated[
    str | None, typer.Option(metavar="RUN", help="Folder for the run [default: runs/…]", show_default=False)
]
Criterion = Annotated[str, typer.Option(help="nc, kmnc, nbc, snac, tknc, bknc; several with commas")]
Profile = Annotated[str | None, typer.Option(metavar="DATA", help="Training data for the profile, if --data has none")]
Threads = Annotated[
    int | None, typer.Option(min=1, max=1024, help="CPU threads [default: all cores]", show_default=False)
]
Device = Annotated[str, typer.Option(help="cpu, cuda, mps")]
Json = Annotated[bool, typer.Option("--json", help="One JSON object on standard output at the end, nothing else there")]
BatchSize = Annotated[int | None, typer.Option(min=1, help="Most images the model runs at once [default: found]")]
Mean = Annotated[str | None, typer.Option(help="Per channel, of pixels / 255, with commas", show_default=False)]
Std = Annotated[str | None, typer.Option(help="Per channel, of pixels / 255, with commas", show_default=False)]
Output = Annotated[str, typer.Option(help="What the model returns: logits, probabilities or auto")]
Resize = Annotated[str | None, typer.Option(metavar="HxW", help="Resize all images", show_default=False)]
Layers = Annotated[
    str | None, typer.Option(help="Probe only layers named like this (features.*, …)", show_default=False)
]
Exclude = Annotated[str | None, typer.Option(help="Do not probe layers named like this", show_default=False)]
EveryLayer = Annotated[bool, typer.Option("--every-layer", help="Count each module's output by itself")]
Sigma = Annotated[float, typer.Option(min=0, help="nbc and snac: how many standard deviations beyond the bounds")]
Run = Annotated[str, typer.Argument(metavar="RUN", help="The folder of a run", show_default=False)]
OtherModel = Annotated[
    str | None, typer.Option("--model", metavar="MODEL", help="Another model, instead of the run's", show_default=False)
]
TrustModel = Annotated[bool, typer.Option("--trust-model", help="Open a model that can run code, whoever made it")]
UntilFirst = Annotated[bool, typer.Option("--until-first", help="Stop at the first finding")]
Plateau = Annotated[
    float | None, typer.Option(min=0, metavar="SECONDS", help="Stop when nothing new has come for so long")
]
JUnit = Annotated[str | None, typer.Option(metavar="FILE", help="Also write JUnit XML there", show_default=False)]
Markdown = Annotated[
    str | None, typer.Option(metavar="FILE", help="Also write a Markdown summary there", show_default=False)
]
HangSeconds = Annotated[float, typer.Option(min=0, help="End a model that does not come back for so long; 0: never")]
CorpusRam = Annotated[float, typer.Option(min=0, help="GiB of the corpus held in memory; the rest lies on disk")]
MaxL2 = Annotated[
    float | None,
    typer.Option(
        "--max-l2", metavar="SHARE", show_default=False,
        help="dlfuzz, deepxplore: run, and report, nothing further than this from its seed: |x' - x| / |x|",
    ),
]  # fmt: skip
FailOn = Annotated[
    list[str] | None,
    typer.Option(
        metavar="CONDITION",
        help="Exit with code 1 if it holds, like errors>0 or rate>0.01,coverage.kmnc<0.5; may be given several times."
        " About: errors (different inputs of any kind), misclassified, changed, not-finite, raised, hung, regression,"
        " disagreeing (of one kind), rate (seeds with an error / seeds searched), groups (of errors alike), flaky"
        " (errors that did not repeat), findings (errors with their repeats), seeds_hit, seeds, seeds_set_aside,"
        " tries, executed, seconds, coverage.CRITERION (0 to 1); of two versions regressions, regression_inputs,"
        " regression_inputs_distinct, regression_faults, general_failures, general_failures_distinct,"
        " faults_in_seeds; with referees doubtful, doubtful_share",
    ),
]


def settings(
    device: str, batch_size: int | None, mean: str | None, std: str | None, output: str, resize: str | None,
    layers: str | None, exclude: str | None, every_layer: bool, sigma: float, trust_model: bool = False,
) -> Settings:  # fmt: skip
    """The options in their types."""
    from nnfuzz.opening import Settings

    return Settings(
        device=usable(device), batch_size=batch_size, mean=_floats("--mean", mean), std=_floats("--std", std),
        output=output, resize=size(resize), layers=listed(layers), exclude=listed(exclude),
        every_layer=every_layer, sigma=sigma, trust_model=trust_model,
    )  # fmt: skip


def listed(text: str | None) -> tuple[str, ...]:
    """'a,b' to ('a', 'b')."""
    return tuple(part.strip() for part in (text or "").split(",") if part.strip())


def _floats(option: str, text: str | None) -> tuple[float, ...] | None:
    if text is None:
        return None
    try:
        values = tuple(float(part) for part in text.split(","))
    except ValueError:
        raise NnfuzzError(
            f"expected {option} as numbers with commas, like 0.485,0.456,0.406, and came {text!r}"
        ) from None
    if not all(map(isfinite, values)):
        raise NnfuzzError(f"expected {option} as finite numbers, and came {text!r}")
    if option == "--std" and not all(v > 0 for v in values):
        raise NnfuzzError(f"expected --std above 0 and came {text!r}")
    return values


def size(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    height, cross, width = text.lower().partition("x")
    if not (height.isdigit() and (width.isdigit() or not cross)):
        raise NnfuzzError(f"expected --resize as HxW, like 224x224, and came {text!r}")
    return int(height), int(width or height)


def usable(device: str) -> str:
    """The device, if this machine has it."""
    import torch

    try:
        torch.zeros(1, device=device).item()  # of a meta device nothing can be read
    except (RuntimeError, AssertionError):
        raise NnfuzzError(f"expected a device that this machine has (cpu, cuda, mps) and came {device!r}") from None
    return device


def use_threads(threads: int | None) -> int:
    """Set on purpose: the libraries' own guesses differ, and fight each other in containers."""
    import os

    import torch

    mine = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    count = threads or mine or 1
    torch.set_num_threads(count)
    return count
