"""What the paper says beside what is measured."""

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Claim:
    """One statement put to the test.

    Attributes:
        claim: the statement.
        predicted: the number it predicts.
        measured: the same number, measured.
        holds: whether the statement is true as it is written.
        where: under which conditions it holds, and where it does not.
    """

    claim: str
    predicted: float
    measured: float
    holds: bool
    where: str

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)
