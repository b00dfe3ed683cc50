"""The run folder: `RunFolder` writes it while a run goes on, `Run` reads it afterwards."""

from nnfuzz.store.folder import RunFolder
from nnfuzz.store.inputs import ending
from nnfuzz.store.reading import Run
from nnfuzz.store.writing import NOT_YET, vacant

__all__ = ["NOT_YET", "Run", "RunFolder", "ending", "vacant"]
