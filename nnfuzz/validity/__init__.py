"""Is the child still a fair question?"""

from nnfuzz.validity.distance import AllOf, Differs, L0Linf

__all__ = ["AllOf", "Differs", "L0Linf"]
