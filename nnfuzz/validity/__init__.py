"""Is the child still a fair question?"""

from nnfuzz.validity.distance import AllOf, Differs, L0Linf
from nnfuzz.validity.late import WhereItMatters

__all__ = ["AllOf", "Differs", "L0Linf", "WhereItMatters"]
