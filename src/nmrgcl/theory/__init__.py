"""The paper's lemmas and theorems (Sec. 3) put to the test: measured beside predicted, and where each one holds."""

from nmrgcl.theory.claim import Claim
from nmrgcl.theory.findings import Findings, check_theory

__all__ = ["Claim", "Findings", "check_theory"]
