"""The run folder: `RunFolder` writes it while a run goes on, `Run` reads it afterwards."""

from nnfuzz.store.folder import RunFolder, vacant
from nnfuzz.store.inputs import ending
from nnfuzz.store.reading import Run

__all__ = ["Run", "RunFolder", "ending", "vacant"]
