"""A statement of the paper and its measurement."""

from dataclasses import asdict, dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class Claim:
    """The test of one statement.

    Attributes:
        claim: the statement.
        predicted: the number it predicts.
        measured: the measured number.
        holds: whether the statement is true as written; None if the measurement leaves it open.
        where: the conditions under which it holds or fails.
    """

    claim: str
    predicted: float
    measured: float
    holds: bool | None
    where: str

    @staticmethod
    def vanishing(claim: str, measured: float, limit: float, where: str) -> "Claim":
        """A statement that predicts zero, and holds if the measurement is below ``limit``."""
        return Claim(claim, 0.0, measured, measured < limit, where)

    @property
    def verdict(self) -> Literal["holds", "fails", "open"]:
        """``holds`` as one word."""
        return "open" if self.holds is None else "holds" if self.holds else "fails"

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)
