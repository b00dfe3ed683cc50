"""A run as a build server shows it."""

from nnfuzz.ci.junit import junit
from nnfuzz.ci.markdown import markdown
from nnfuzz.ci.report import Report

__all__ = ["Report", "junit", "markdown"]
