"""A run as one HTML file that needs nothing else: no scripts, no fonts, no network."""

from nnfuzz.report.page import Page, Shown, render

__all__ = ["Page", "Shown", "render"]
