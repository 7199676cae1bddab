"""Checks the certificates of grammar induction; shares no code with the search."""

from arcwise.induction.verifier.verify import CertificateError, Verified, verify

__all__ = ["CertificateError", "Verified", "verify"]
