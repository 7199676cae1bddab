"""Feature templates as data, and the hashed properties of words (atoms) that they are made of."""

from arcwise.features.atoms import atom_names, token_atoms

__all__ = ["atom_names", "token_atoms"]
