"""Interpretable multiple-kernel prototype learning."""

__version__ = "0.1.0"
