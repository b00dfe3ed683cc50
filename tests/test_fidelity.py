"""From a name to the part: found, trained once, refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from nnfuzz import data, generative, models
from nnfuzz.cli import main
from nnfuzz.errors import NnfuzzError
from nnfuzz.fidelity import NAMES, fidelity, labelled, now_and_then, trained_guard
from nnfuzz.models.train import Epoch
from nnfuzz.records import Batch, Model
from nnfuzz.roles import Validity
from nnfuzz.validity import Alike, Consistent, Guarded, Similar

Ask = Callable[..., Validity | None]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NNFUZZ_DATA", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def stripes() -> data.Images:
    """Two classes on 8x8 pixels: a line across, a line down, lighter and darker."""
    x = torch.zeros(60, 1, 8, 8, dtype=torch.uint8)
    bright = torch.linspace(150, 255, 30).to(torch.uint8)[:, None, None, None]
    x[:30, :, 3:5], x[30:, :, :, 3:5] = bright, bright
    return data.Images(x, torch.arange(60) // 30, ("across", "down"), "stripes")


@pytest.fixture
def ask(stripes: data.Images, home: Path) -> Ask:
    seeds = Batch.of_seeds(stripes.x, stripes.label)
    old = models.build("digits", (1, 8, 8), 2, seed=1)
    return lambda name, **options: fidelity(name, old, seeds, stripes, **options)


def test_untrained_parts(ask: Ask) -> None:
    assert ask("none") is None
    assert isinstance(ask("consistent", threshold=3), Consistent)
    assert repr(ask("consistent", threshold=3)) == "Consistent(copies=3)"
    assert repr(ask("ssim")) == "Similar(threshold=0.5)"
    assert isinstance(ask("ssim"), Similar)
    alike = ask("features")
    assert isinstance(alike, Alike)
    assert repr(alike) == "Alike(layer='flatten', threshold=0.8)"
    assert repr(ask("features", layer="conv1", threshold=0.9)) == "Alike(layer='conv1', threshold=0.9)"


def test_what_is_not_there(ask: Ask) -> None:
    with pytest.raises(NnfuzzError, match=f"among {', '.join(NAMES)}, and came 'looks'"):
        ask("looks")
    with pytest.raises(NnfuzzError, match=r"--layer to be one of conv1, .* and came 'conv9'"):
        ask("features", layer="conv9")


def test_a_guard_is_trained_once(ask: Ask, stripes: data.Images, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trainings: list[str] = []
    real = models.train_judge

    def short(network: str, images: data.Images, **options: object) -> models.Trained:
        trainings.append(network)
        return real(network, images, epochs=12, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(models, "train_judge", short)
    said: list[tuple[str, str]] = []
    first = ask("label", say=lambda *line: said.append(line))
    assert isinstance(first, Guarded)
    assert trainings == ["guard"]
    assert any(text.startswith("epoch 1,") for _, text in said)
    assert any(text.startswith("trained in") for _, text in said)
    assert "of the seeds with a probability of at least 0.5" in said[-1][1]
    second = ask("label", say=lambda *line: said.append(line))
    assert trainings == ["guard"], "the second one is found"
    seeds = Batch.of_seeds(stripes.x, stripes.label)
    assert isinstance(second, Guarded)
    assert (first.confidence(seeds) == second.confidence(seeds)).all()
    assert repr(first) == repr(second)
    assert len(list((home / "guards").iterdir())) == 1
    changed = replace(stripes, x=stripes.x + 1)
    trained_guard(changed)
    assert trainings == ["guard", "guard"], "other images, another guard"


def test_one_s_own_guard(ask: Ask, home: Path) -> None:
    own = home / "own.safetensors"
    models.save(models.build("guard", (1, 8, 8), 2), own)
    with pytest.raises(NnfuzzError, match=r"reads at least 50% of the seeds and .* reads \d+\.\d%; .*consistent"):
        ask("label", guard=f"guard@{own}", threshold=0.99)
    models.save(models.build("guard", (1, 8, 8), 7), own)
    with pytest.raises(NnfuzzError, match=r"tells 2 classes apart and .* tells 7"):
        ask("label", guard=str(own))


def test_a_set_without_labels_teaches_no_guard(stripes: data.Images, home: Path) -> None:
    blank = replace(stripes, label=torch.full((60,), -1))
    assert not len(labelled(blank))
    with pytest.raises(NnfuzzError, match=r"labelled images of each of 2 classes .* came 0; .*consistent"):
        fidelity("label", models.build("digits", (1, 8, 8), 2), Batch.of_seeds(blank.x), blank)


def test_a_set_too_small_for_a_discriminator(ask: Ask) -> None:
    with pytest.raises(NnfuzzError, match=r"at least 500 images .* came 60; take another fidelity \(label"):
        ask("gan")


@pytest.fixture
def model() -> Model:
    return models.build("digits", (1, 8, 8), 2)


def test_a_discriminator_is_refused_with_its_score(stripes: data.Images, home: Path, model: Model) -> None:
    many = replace(stripes, x=stripes.x.repeat(10, 1, 1, 1), label=stripes.label.repeat(10))
    seeds, path = Batch.of_seeds(stripes.x, stripes.label), generative.kept(data.digest(many))
    gan = generative.build((1, 8, 8))
    for weight in gan.discriminator.parameters():
        torch.nn.init.zeros_(weight)
    generative.save(gan, path, {})
    with pytest.raises(
        NnfuzzError, match=r"above noise at least 90% of the time and discriminator-growing does 50\.0%"
    ):
        fidelity("gan", model, seeds, many)
    torch.nn.init.constant_(gan.discriminator[-1].weight, -1.0)  # darker is more real
    torch.nn.init.constant_(gan.discriminator[0].weight, 1.0)
    generative.save(gan, path, {})
    paper, calibrated = (fidelity(name, model, seeds, many) for name in ("gan", "gan-calibrated"))
    assert paper is not None
    assert calibrated is not None
    assert paper(seeds, seeds).all()
    darker = seeds.child(seeds.x // 2)
    assert paper(darker, seeds).all()
    lighter = seeds.child(seeds.x // 2 + 120)
    assert not paper(lighter, seeds).any()
    assert 0.9 <= calibrated(seeds, seeds).double().mean() < 1


def test_the_commands(tmp_path: Path, home: Path, stripes: data.Images, capsys: pytest.CaptureFixture[str],
                      monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    file = tmp_path / "stripes.npz"
    np.savez(file, x_train=stripes.x.numpy(), y_train=stripes.label, x_test=stripes.x.numpy(), y_test=stripes.label)

    def run(*arguments: str) -> dict[str, object]:
        monkeypatch.setattr("sys.argv", ["nnfuzz", *arguments, "--threads", "1", "--json"])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        return json.loads(out) if ended.value.code == 0 else {"error": err}

    told = run("train", "--referee", "--data", str(file), "--epochs", "1", "--seed", "4")
    assert told["network"] == "referee-residual"
    assert 0 <= told["distorted_accuracy"] <= 1  # type: ignore[operator]
    name = Path(str(told["weights"])).stem
    assert name.endswith("-referee4")
    assert models.load(name).classes == 2
    assert "or --referee, and came neither" in run("train")["error"]  # type: ignore[operator]
    assert "at least 500 images" in run("train-gan", str(file))["error"]  # type: ignore[operator]
    assert "auto or growing" in run("train-gan", str(file), "--network", "wild")["error"]  # type: ignore[operator]


def test_a_guard_of_hundreds_of_epochs_says_few_words() -> None:
    said: list[str] = []
    tell = now_and_then(lambda name, text: said.append(text))
    for number in range(1, 101):
        tell(Epoch(number, 1.0, 0.5, None, number / 10))
    assert [text.split(",")[0] for text in said] == ["epoch 1", "epoch 51"]
