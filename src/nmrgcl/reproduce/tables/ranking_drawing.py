"""The critical-difference diagram: average ranks on a line, with bars over rows that do not differ significantly."""

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from nmrgcl.report.svg import INK, PALETTE, STYLE, Picture
from nmrgcl.reproduce.drawing import heading
from nmrgcl.reproduce.scores import Scores
from nmrgcl.reproduce.tables.ranking import Ranking


def ranking_picture(scores: Scores, ranking: Ranking, judged: str) -> Picture:
    """The critical-difference diagram with its texts."""
    ranks = ", ".join(f"{name} {rank:.2f}" for name, rank in zip(ranking.names, ranking.ranks, strict=True))
    return Picture(
        key="ranking",
        title="Average ranks",
        description=f"A line of ranks. {ranks}.",
        caption=f"Average rank over {', '.join(ranking.datasets)} (1 is best), {judged}. Rows under one bar do not "
        f"differ beyond chance. {ranking.sentence}.",
        figure=plot_ranking(scores, ranking),
    )


@rc_context(STYLE)
def plot_ranking(scores: Scores, ranking: Ranking) -> Figure:
    """Draw the diagram as Demšar does, with the better half of the rows on the left."""
    count = len(ranking.names)
    depth = (count + 1) // 2
    figure = Figure(figsize=(8, 1.7 + 0.28 * (depth + len(ranking.cliques()))), layout="constrained")
    figure.patch.set_alpha(0)
    axes = figure.subplots()
    axes.patch.set_alpha(0)
    axes.set_axis_off()
    axes.set_xlim(-0.9, count + 1.9)
    bars = ranking.cliques()
    low = -0.9 - 0.45 * len(bars)
    axes.set_ylim(low - 0.8 * depth - 0.3, 1.9)
    _scale(axes, count, ranking.distance)
    for number, (name, rank) in enumerate(zip(ranking.names, ranking.ranks, strict=True)):
        left = number < depth
        level = low - 0.8 * (number if left else count - 1 - number)
        end = 0.75 if left else count + 0.25
        axes.plot([rank, rank, end], [0, level, level], color=INK, linewidth=0.9)
        side = "right" if left else "left"
        axes.text(end + (-0.05 if left else 0.05), level, f"{name} {rank:.2f}", ha=side, va="center")
    for number, (first, last) in enumerate(bars):
        ends = [ranking.ranks[first] - 0.06, ranking.ranks[last] + 0.06]
        axes.plot(ends, [-0.45 - 0.45 * number] * 2, color=PALETTE[0], linewidth=3.5, solid_capstyle="butt")
    heading(figure, scores, "Average ranks, 1 is best")
    return figure


def _scale(axes: Axes, count: int, distance: float) -> None:
    axes.plot([1, count], [0, 0], color=INK, linewidth=1.2)
    for rank in range(1, count + 1):
        axes.plot([rank, rank], [0, 0.18], color=INK, linewidth=1.2)
        axes.text(rank, 0.32, str(rank), ha="center", va="bottom")
    end = min(1 + distance, count + 0.5)
    axes.plot([1, end], [1.25, 1.25], color=INK, linewidth=1.2, marker="|", markersize=7)
    axes.text((1 + end) / 2, 1.35, f"critical difference {distance:.2f}", ha="center", va="bottom")
