"""TorchScript, exported programs and pickled networks: only on the user's word, and then they work."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor

from nnfuzz import models
from nnfuzz.errors import NnfuzzError
from nnfuzz.hunting import Hunt, hunt
from nnfuzz.hunting.reopen import asked
from nnfuzz.opening import Settings
from nnfuzz.pytest_plugin import Listening
from nnfuzz.records import Model
from nnfuzz.store import Run
from nnfuzz.target import Target
from tests.attacks.conftest import Command

pytestmark = pytest.mark.filterwarnings("ignore")  # torch announces the end of TorchScript, and of much else
FORMS = ("script.pt", "traced.ts", "any.pt2", "one.pt2", "two.pt2", "pickled.pth")


@pytest.fixture(scope="module")
def whole(made: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, torch.nn.Module]:
    """The same network in every form; `one` and `two` are exported for batches of that size only."""
    folder = tmp_path_factory.mktemp("whole")
    net = models.load(f"digits@{made / 'net.safetensors'}").net.eval()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.jit.save(torch.jit.script(net), folder / "script.pt")
        torch.jit.save(torch.jit.trace(net, torch.rand(2, 1, 8, 8)), folder / "traced.ts")
        rows = {0: torch.export.Dim("rows")}
        torch.export.save(
            torch.export.export(net, (torch.rand(3, 1, 8, 8),), dynamic_shapes=(rows,)), folder / "any.pt2"
        )
        for size, name in ((1, "one.pt2"), (2, "two.pt2")):
            torch.export.save(torch.export.export(net, (torch.rand(size, 1, 8, 8),)), folder / name)
        torch.save(net, folder / "pickled.pth")
    return folder, net


@pytest.mark.parametrize("form", FORMS)
def test_not_without_the_users_word(
    whole: tuple[Path, torch.nn.Module], tmp_path: Path, refused: Callable[..., str], form: str
) -> None:
    file = whole[0] / form
    for command in ("cover", "hunt"):
        said = refused(tmp_path, command, file, "--data", "digits", *["--out", tmp_path / "out"] * (command == "hunt"))
        assert "can run any code" in said
        assert "--trust-model" in said


@pytest.mark.parametrize("form", FORMS)
def test_with_it_the_answers_are_the_networks(
    whole: tuple[Path, torch.nn.Module], capsys: pytest.CaptureFixture[str], form: str
) -> None:
    folder, net = whole
    x = torch.randint(256, (7, 1, 8, 8), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    model = models.load(str(folder / form), trust=True)
    assert "warning: opening" in capsys.readouterr().err
    with Target(model, x) as target, Target(Model(net, "net"), x) as plain:
        torch.testing.assert_close(target(x).logits, plain(x).logits, rtol=1e-4, atol=1e-4)
        assert target.neurons == (20 if form != "pickled.pth" else plain.neurons)
    assert models.digest(models.load(str(folder / form), trust=True).net) == models.digest(model.net)


def test_every_file_has_a_digest_of_its_own(whole: tuple[Path, torch.nn.Module]) -> None:
    digests = {models.digest(models.load(str(whole[0] / form), trust=True).net) for form in FORMS}
    assert len(digests) == len(FORMS)


@pytest.mark.parametrize("form", ["script.pt", "any.pt2"])
def test_hunt_replay_and_resume(
    whole: tuple[Path, torch.nn.Module], tmp_path: Path, nnfuzz: Command, form: str
) -> None:
    """Whoever said it once need not say it again, unless the run comes from elsewhere or the model is another one."""
    out, file = tmp_path / "out", whole[0] / form
    options = ("--data", "digits", "--criterion", "tknc", "--tries", 100, "--seeds", 40, "--out", out)
    code, _, err = nnfuzz("hunt", file, *options, "--trust-model")
    assert code == 0, err
    assert "which can run any code" in err
    assert nnfuzz("replay", out)[0] in (0, 1)
    assert nnfuzz("resume", out)[0] == 0
    other = nnfuzz("replay", out, "--model", whole[0] / "traced.ts")
    assert other[0] == 2
    assert "--trust-model" in other[2]
    assert nnfuzz("replay", out, "--model", whole[0] / "traced.ts", "--trust-model")[0] in (0, 1)


def test_trust_that_a_folder_claims_is_not_the_users(
    whole: tuple[Path, torch.nn.Module], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = Hunt(str(whole[0] / "script.pt"), "digits", criteria=("tknc",), tries=64, seeds=30, hang_seconds=None,
               settings=Settings(trust_model=True), out=str(tmp_path / "out"))  # fmt: skip
    hunt(ask, Listening())
    assert asked(Run(tmp_path / "out")).settings.trust_model
    assert not asked(Run(tmp_path / "out"), model="other.pt").settings.trust_model
    monkeypatch.setenv("NNFUZZ_DATA", str(tmp_path / "somebody else"))
    with pytest.raises(NnfuzzError, match="say --trust-model"):
        asked(Run(tmp_path / "out"))


@pytest.mark.parametrize("name", ["no.pt2", "empty.pt", "text.pt2", "state.pt", "number.pth"])
def test_what_is_no_network(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    if name == "state.pt":
        torch.save({"a": torch.zeros(1)}, file)
    elif name == "number.pth":
        torch.save(3, file)
    elif name != "no.pt2":
        file.write_text("" if name == "empty.pt" else "not a model")
    with pytest.raises(NnfuzzError, match="expected"):
        models.load(str(file), trust=True)


def test_the_last_part_of_a_batch_is_filled_up() -> None:
    from nnfuzz.models.whole import Whole

    seen = []

    def program(x: Tensor) -> Tensor:
        seen.append(len(x))
        return x.flatten(1).sum(1, keepdim=True)

    x = torch.rand(7, 1, 2, 2)
    torch.testing.assert_close(Whole(program, "", 3)(x), x.flatten(1).sum(1, keepdim=True))
    assert seen == [3, 3, 3]
