"""Train a method of nmrgcl by Lightning, with its devices, loggers and callbacks.

python lightning_training.py
"""

import lightning
import torch

from nmrgcl import Progress, apply_features, build_method, choose_features, load, resolve

mutag = load("MUTAG")
graphs = apply_features(mutag, choose_features(mutag))
losses: list[float] = []


class Training(lightning.LightningModule):
    """A method yields the losses of a batch; those in this example yield one."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.method = build_method(resolve(name), graphs.num_features)

    def training_step(self, batch, _):
        """Loss of a batch of graphs."""
        loss = next(self.method.losses(batch, Progress()))
        self.log("loss", loss, on_epoch=True, batch_size=len(batch))
        losses.append(loss.item())
        return loss

    def configure_optimizers(self):
        """Adam, as the methods use it."""
        return torch.optim.Adam(self.parameters(), lr=0.001)


if __name__ == "__main__":
    rows = torch.utils.data.DataLoader(
        range(len(graphs)),
        batch_size=64,
        shuffle=True,
        collate_fn=lambda index: graphs.take(torch.tensor(index)),
    )
    quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False}
    lightning.seed_everything(0)
    lightning.Trainer(max_epochs=5, accelerator="cpu", **quiet).fit(
        training := Training("graphcl"), rows
    )
    print(training.method.embed(graphs).shape)
