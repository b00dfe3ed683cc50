"""Children from parents: image operations, and mutators that pick among them."""

from itertools import product

from nnfuzz.mutators.affine import rotation, scale, shear, shear_from_the_top, translation
from nnfuzz.mutators.blur import blur
from nnfuzz.mutators.combine import OneOf, apply_ops
from nnfuzz.mutators.gradient import PROCESSES, Ascent, check_gradients
from nnfuzz.mutators.metamorphic import Metamorphic
from nnfuzz.mutators.morphology import dilate, erode
from nnfuzz.mutators.neurons import STRATEGIES, Neurons
from nnfuzz.mutators.noise import gauss_noise, multiplicative_noise, noise, pixel_change, saltpepper_noise
from nnfuzz.mutators.objectives import Apart, NextLabels
from nnfuzz.mutators.operator import Operator, choices, uniform
from nnfuzz.mutators.patch import black_patch, reverse_patch, white_patch
from nnfuzz.mutators.pixel import brightness, contrast
from nnfuzz.mutators.policy import Chains, Rewarded

# G and P of DeepHunter, section 3.2, with the parameter lists of its authors' code.
DEEPHUNTER_AFFINE = (translation(), scale(), shear(), rotation())
DEEPHUNTER_PIXEL = (contrast(), brightness(), blur(), noise())

# DRFuzz's, with the ranges of its authors' code.
DRFUZZ: tuple[Operator, ...] = (
    translation(tuple(product(range(-3, 3), repeat=2))),
    scale(uniform(0.7, 1.2)),
    shear_from_the_top(),
    rotation(uniform(-50, 50)),
    contrast(uniform(0.5, 1.5)),
    brightness(uniform(-20, 20)),
    blur(),
    erode(),
    dilate(),
    reverse_patch(),
    white_patch(),
    black_patch(),
    gauss_noise(),
    multiplicative_noise(),
    saltpepper_noise(),
)

# By name, whatever they draw from; of the two translations the one with two parameters, which takes one as well.
OPERATORS = {operator.name: operator for operator in (*DEEPHUNTER_AFFINE, *DEEPHUNTER_PIXEL, pixel_change(), *DRFUZZ)}

__all__ = [
    "DEEPHUNTER_AFFINE",
    "DEEPHUNTER_PIXEL",
    "DRFUZZ",
    "OPERATORS",
    "PROCESSES",
    "STRATEGIES",
    "Apart",
    "Ascent",
    "Chains",
    "Metamorphic",
    "Neurons",
    "NextLabels",
    "OneOf",
    "Operator",
    "Rewarded",
    "apply_ops",
    "black_patch",
    "blur",
    "brightness",
    "check_gradients",
    "choices",
    "contrast",
    "dilate",
    "erode",
    "gauss_noise",
    "multiplicative_noise",
    "noise",
    "pixel_change",
    "reverse_patch",
    "rotation",
    "saltpepper_noise",
    "scale",
    "shear",
    "shear_from_the_top",
    "translation",
    "uniform",
    "white_patch",
]  # fmt: skip
