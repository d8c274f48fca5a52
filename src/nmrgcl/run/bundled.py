"""The molecule encoder that ships with the package; it is the default where no other model is named."""

from pathlib import Path

from nmrgcl.errors import ModelError

BUNDLED = "bundled"
"""The name of this model in commands and functions; write ``./bundled`` or pass a ``Path`` for a folder so named."""
FOLDER = Path(__file__).parents[1] / "pretrained" / "molecules"


def is_there() -> bool:
    """Whether this installation includes the weights."""
    return (FOLDER / "config.json").is_file()


def model_path(name: Path | str) -> Path:
    """The folder of the bundled model if ``name`` is the text "bundled"; otherwise ``name`` is a path."""
    if name != BUNDLED:
        return Path(name)
    if not is_there():
        raise ModelError("this version of nmrgcl has no bundled encoder; name a model made with nmrgcl pretrain")
    return FOLDER
