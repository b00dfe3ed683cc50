"""Is the child still a fair question?"""

from nnfuzz.validity.by_seed import BySeed
from nnfuzz.validity.consistent import Consistent
from nnfuzz.validity.distance import AllOf, Differs, L0Linf, RelativeL2, relative_l2
from nnfuzz.validity.faithful import Calibrated, Faithful
from nnfuzz.validity.guarded import Guarded
from nnfuzz.validity.late import InTurn, WhereItMatters
from nnfuzz.validity.similar import Alike, Similar, ssim

__all__ = [
    "Alike", "AllOf", "BySeed", "Calibrated", "Consistent", "Differs", "Faithful", "Guarded", "InTurn",
    "L0Linf", "RelativeL2", "Similar", "WhereItMatters", "relative_l2", "ssim",
]  # fmt: skip
