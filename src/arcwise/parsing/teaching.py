"""Deprecated: former names, listed in ``arcwise.deprecation``."""

from arcwise.deprecation import MOVED, renamed

__getattr__ = renamed(__name__, MOVED[__name__])
