"""Tables as Markdown and LaTeX."""

from nmrgcl.report.grid import Grid, as_latex, as_markdown, escape_latex
from nmrgcl.report.page import Bold

GRID = Grid(
    key="results",
    title="Results",
    caption="In %.",
    head=("row", "NCI1", "IMDB_B"),
    rows=[
        ("GIN", "82.70 ± 1.70", "–"),
        ("a|b", Bold("81.04 ± 1.85"), "< 50.0"),
        ("c", "−1.00", "+0.10 (−0.20 … +0.40)"),
    ],
    groups=["supervised", "ours & theirs", "ours & theirs"],
)


def test_markdown_has_one_row_per_line_groups_and_bold() -> None:
    assert as_markdown(GRID) == (
        "## Results\n\n"
        "| row | NCI1 | IMDB_B |\n"
        "| --- | ---: | ---: |\n"
        "| *supervised* |  |  |\n"
        "| GIN | 82.70 ± 1.70 | – |\n"
        "| *ours & theirs* |  |  |\n"
        "| a\\|b | **81.04 ± 1.85** | < 50.0 |\n"
        "| c | −1.00 | +0.10 (−0.20 … +0.40) |\n"
        "\nIn %.\n"
    )


def test_latex_has_the_rules_of_booktabs() -> None:
    assert as_latex(GRID, label="table1") == "\n".join(
        [
            r"\begin{table}",
            r"\centering",
            r"\caption{Results. In \%.}",
            r"\label{tab:table1-results}",
            r"\begin{tabular}{lrr}",
            r"\toprule",
            r"row & NCI1 & IMDB\_B \\",
            r"\midrule",
            r"\multicolumn{3}{l}{\emph{supervised}} \\",
            r"GIN & 82.70 $\pm$ 1.70 & -- \\",
            r"\midrule",
            r"\multicolumn{3}{l}{\emph{ours \& theirs}} \\",
            r"a|b & \textbf{81.04 $\pm$ 1.85} & $<$ 50.0 \\",
            r"c & $-$1.00 & +0.10 ($-$0.20 \ldots{} +0.40) \\",
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    )


def test_a_backslash_is_escaped_once() -> None:
    assert escape_latex(r"\{~^") == r"\textbackslash{}\{\textasciitilde{}\textasciicircum{}"
