"""Feature templates, and the hashed word properties (atoms) that they combine."""

from arcwise.features.atoms import atom_names, token_atoms

__all__ = ["atom_names", "token_atoms"]
