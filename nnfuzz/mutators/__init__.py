"""Children from parents: image operations, and mutators that pick among them."""

from nnfuzz.mutators.affine import rotation, scale, shear, translation
from nnfuzz.mutators.blur import blur
from nnfuzz.mutators.combine import OneOf, apply_ops
from nnfuzz.mutators.gradient import PROCESSES, Ascent, check_gradients
from nnfuzz.mutators.metamorphic import Metamorphic
from nnfuzz.mutators.neurons import STRATEGIES, Neurons
from nnfuzz.mutators.noise import noise, pixel_change
from nnfuzz.mutators.objectives import Apart, NextLabels
from nnfuzz.mutators.operator import Operator, choices
from nnfuzz.mutators.pixel import brightness, contrast

# G and P of DeepHunter, section 3.2, with the parameter lists of its authors' code.
DEEPHUNTER_AFFINE = (translation(), scale(), shear(), rotation())
DEEPHUNTER_PIXEL = (contrast(), brightness(), blur(), noise())

OPERATORS = {operator.name: operator for operator in (*DEEPHUNTER_AFFINE, *DEEPHUNTER_PIXEL, pixel_change())}

__all__ = [
    "DEEPHUNTER_AFFINE", "DEEPHUNTER_PIXEL", "OPERATORS", "PROCESSES", "STRATEGIES", "Apart", "Ascent", "Metamorphic",
    "Neurons", "NextLabels", "OneOf", "Operator", "apply_ops", "blur", "brightness", "check_gradients", "choices",
    "contrast", "noise", "pixel_change", "rotation", "scale", "shear", "translation",
]  # fmt: skip
