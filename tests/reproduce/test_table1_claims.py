"""Which rows the claim about kernels compares: those that are complete on a dataset, whatever others lack."""

import numpy as np

from nmrgcl.reproduce.scores import Scores
from nmrgcl.reproduce.table1 import _best_of, _mean_of


class TwoDatasets(Scores):
    """Two datasets, two seeds; row B lacks a seed on the second dataset, row C has none at all."""

    def __init__(self) -> None:
        pass

    def of(self, *at: object) -> np.ndarray:
        nan = np.nan
        return np.array(
            {"A": [[1.0, 2.0], [3.0, 4.0]], "B": [[5.0, 8.0], [7.0, nan]], "C": [[nan, nan], [nan, nan]]}[str(at[0])]
        )


def test_a_row_counts_on_the_datasets_on_which_it_has_every_seed() -> None:
    means, rows = _mean_of(TwoDatasets(), ("A", "B", "C"))
    assert means.tolist() == [[3.0, 5.0], [3.0, 4.0]]
    assert rows == ["A", "B"]


def test_without_any_row_there_is_no_mean() -> None:
    means, rows = _mean_of(TwoDatasets(), ("C",))
    assert np.isnan(means).all()
    assert rows == ["no row"]


def test_the_best_row_of_a_dataset_is_one_that_has_every_seed() -> None:
    assert _best_of(TwoDatasets(), ("A", "B", "C")).tolist() == [6.5, 3.5]
    assert np.isnan(_best_of(TwoDatasets(), ("C",))).all()
