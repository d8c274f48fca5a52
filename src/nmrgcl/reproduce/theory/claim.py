"""What the paper says beside what is measured."""

from dataclasses import asdict, dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class Claim:
    """One statement put to the test.

    Attributes:
        claim: the statement.
        predicted: the number it predicts.
        measured: the same number, measured.
        holds: whether the statement is true as it is written; None where the measurement leaves it open.
        where: under which conditions it holds, and where it does not.
    """

    claim: str
    predicted: float
    measured: float
    holds: bool | None
    where: str

    @staticmethod
    def vanishing(claim: str, measured: float, limit: float, where: str) -> "Claim":
        """A statement that predicts zero, and holds if less than ``limit`` is measured."""
        return Claim(claim, 0.0, measured, measured < limit, where)

    @property
    def verdict(self) -> Literal["holds", "fails", "open"]:
        """``holds`` as one word."""
        return "open" if self.holds is None else "holds" if self.holds else "fails"

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)
