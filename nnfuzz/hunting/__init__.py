"""Hunts: asked for, prepared, searched, recorded; gone on with, replayed."""

from nnfuzz.hunting.ask import ORACLES, Hunt
from nnfuzz.hunting.prepare import Prepared, choose, prepare
from nnfuzz.hunting.resume import resume
from nnfuzz.hunting.search import Watch, hunt, limited

__all__ = ["ORACLES", "Hunt", "Prepared", "Watch", "choose", "hunt", "limited", "prepare", "resume"]
