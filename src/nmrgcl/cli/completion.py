"""Shell completion of presets, methods, datasets and settings, without loading torch."""

from collections.abc import Iterable


def complete_preset(incomplete: str) -> list[str]:
    """Complete the presets of the package."""
    from nmrgcl.settings import preset_names

    return _beginning(incomplete, preset_names())


def complete_method(incomplete: str) -> list[str]:
    """Complete the methods of the package."""
    from nmrgcl.method_files import method_names

    return _beginning(incomplete, method_names())


def complete_dataset(incomplete: str) -> list[str]:
    """Complete the names of datasets; the shell itself completes files."""
    from nmrgcl.data.catalog import known_names

    return _beginning(incomplete, known_names())


def complete_item(incomplete: str) -> list[str]:
    """Complete the tables and figures of the paper."""
    from nmrgcl.reproduce import NAMES

    return _beginning(incomplete, [*NAMES, "all", "claims"])


def complete_key(incomplete: str) -> list[str]:
    """Complete keys of settings, with or without their group."""
    return _beginning(incomplete, known_keys())


def complete_assignment(incomplete: str) -> list[str]:
    """Complete ``key=`` for --set."""
    return [f"{key}=" for key in complete_key(incomplete)]


def known_keys() -> list[str]:
    """Return the dotted keys of shared settings, their last parts, and the options of every method."""
    from nmrgcl.method_files import option_names
    from nmrgcl.settings import shared_settings

    keys = [one.key for one in shared_settings()]
    return list(dict.fromkeys([*keys, *(key.rpartition(".")[2] for key in keys), *option_names()]))


def _beginning(incomplete: str, names: Iterable[str]) -> list[str]:
    return sorted(name for name in names if name.startswith(incomplete))
