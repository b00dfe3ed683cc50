"""The command line. Nothing heavy is imported before a command needs it."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from nnfuzz import __version__
from nnfuzz.cli.cover import cover
from nnfuzz.cli.demo import demo
from nnfuzz.cli.exits import CONFIGURATION_ERROR, STOPPED_EARLY
from nnfuzz.cli.findings import findings
from nnfuzz.cli.hunt import hunt
from nnfuzz.cli.minimize import minimize
from nnfuzz.cli.paper import paper
from nnfuzz.cli.regress import regress
from nnfuzz.cli.replay import replay
from nnfuzz.cli.report import report
from nnfuzz.cli.resume import resume
from nnfuzz.cli.train import train
from nnfuzz.cli.train_gan import train_gan
from nnfuzz.errors import NnfuzzError

app = typer.Typer(
    name="nnfuzz", no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False,
)  # fmt: skip
for command in (hunt, regress, resume, replay, findings, minimize, report, cover, train, train_gan, demo, paper):
    app.command()(command)


def _version(asked: bool) -> None:
    if asked:
        print(f"nnfuzz {__version__}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Say which it is")
    ] = False,
) -> None:
    """A fuzzer for neural networks: realistic images that a model gets wrong, found in seconds."""


def main() -> None:
    """Whatever a user can mend is one sentence and exit code 2."""
    try:
        app()
    except NnfuzzError as error:
        from nnfuzz.cli.display import plain

        print(plain(f"nnfuzz: {error}"), file=sys.stderr)
        sys.exit(CONFIGURATION_ERROR)
    except KeyboardInterrupt:
        print("nnfuzz: interrupted", file=sys.stderr)
        sys.exit(STOPPED_EARLY)
