"""Verifier of grammar-induction certificates; it shares no code with the search."""

from arcwise.induction.verifier.claim import CertificateError, Constraint, Rules, Verified
from arcwise.induction.verifier.verify import verify

__all__ = ["CertificateError", "Constraint", "Rules", "Verified", "verify"]
