"""Is the child still a fair question?"""

from nnfuzz.validity.distance import AllOf, Differs, L0Linf, RelativeL2, relative_l2
from nnfuzz.validity.late import WhereItMatters

__all__ = ["AllOf", "Differs", "L0Linf", "RelativeL2", "WhereItMatters", "relative_l2"]
