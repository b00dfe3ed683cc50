"""Images with labels, from official file formats, folders and arrays."""

from nnfuzz.data.download import folder
from nnfuzz.data.images import Images, digest
from nnfuzz.data.loading import has_split, load

__all__ = ["Images", "digest", "folder", "has_split", "load"]
