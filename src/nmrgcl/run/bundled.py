"""The encoder of molecules that comes with the package and is used where no other model is named."""

from pathlib import Path

from nmrgcl.errors import ModelError

BUNDLED = "bundled"
"""Names it wherever a model is named; a folder of that name is ``./bundled``, or a ``Path``."""
FOLDER = Path(__file__).parents[1] / "pretrained" / "molecules"


def is_there() -> bool:
    """Whether this copy of the package holds its weights."""
    return (FOLDER / "config.json").is_file()


def model_path(name: Path | str) -> Path:
    """Where the model of that name is: that of the package for the text "bundled", else ``name`` is its path."""
    if name != BUNDLED:
        return Path(name)
    if not is_there():
        raise ModelError("this version of nmrgcl has no bundled encoder; name a model that nmrgcl pretrain has made")
    return FOLDER
