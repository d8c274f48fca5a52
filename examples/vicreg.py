"""VICReg (Bardes et al. 2022): two views agree, dimensions vary and do not correlate.

nmrgcl methods vicreg.py
nmrgcl pretrain MUTAG --method vicreg.py --set covariance=2 --out runs/vicreg
nmrgcl evaluate runs/vicreg MUTAG
nmrgcl diagnose runs/vicreg MUTAG
nmrgcl sweep MUTAG --method vicreg.py --method nmrgcl --method untrained
"""

from collections.abc import Iterator
from dataclasses import dataclass

from torch import Tensor, eye
from torch.nn.functional import mse_loss

from nmrgcl import Graphs, Head, Pretraining, Progress, Settings, build_view, setting


@dataclass(frozen=True)
class Options:
    """The weights of the three terms."""

    invariance: float = setting(25.0, "weight of the distance between two views", min=0)
    variance: float = setting(25.0, "weight of a standard deviation below one", min=0)
    covariance: float = setting(1.0, "weight of covariances between dimensions", min=0)


class VICReg(Pretraining):
    """Two views of a graph agree; every dimension varies, and no two of them correlate."""

    options: Options

    def __init__(self, settings: Settings, num_features: int) -> None:
        super().__init__(settings, num_features)
        self.views = [build_view(settings.views.first), build_view(settings.views.second)]
        self.head = Head(self.encoder.units)

    def losses(self, graphs: Graphs, progress: Progress) -> Iterator[Tensor]:
        """One loss per batch."""
        z1, z2 = self.head(self.embed_views(graphs, *self.views)).chunk(2)
        spread = sum((1 - (z.var(0) + 1e-4).sqrt()).relu().mean() for z in (z1, z2))
        o = self.options
        yield (
            o.invariance * mse_loss(z1, z2)
            + o.variance * spread
            + o.covariance * (mixed(z1) + mixed(z2))
        )


def mixed(z: Tensor) -> Tensor:
    """Squares of all covariances between two dimensions, per dimension."""
    z = z - z.mean(0)
    covariance = z.T @ z / (len(z) - 1)
    return (covariance * (1 - eye(z.shape[1], device=z.device))).square().sum() / z.shape[1]


METHOD = VICReg
