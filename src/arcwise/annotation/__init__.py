"""Annotation of treebanks: crash-safe editing, parser suggestions, worklists, background training."""
