"""Lines of the package by folder: how many are code, docstrings, comments and blank.

python benchmarks/lines.py [REVISION]   # the last commit, or another revision
"""

import argparse
import ast
import subprocess
from collections import Counter
from pathlib import Path, PurePath

ROOT = Path(__file__).parents[1]
PACKAGE = "src/nmrgcl"
COLUMNS = ("files", "lines", "code", "docstrings", "comments", "blank")


def git(*arguments: str) -> str:
    return subprocess.run(("git", *arguments), cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout


def counts(source: str) -> Counter[str]:
    """Every line counts once; a comment behind code is code."""
    kinds = [
        "comments" if line.lstrip().startswith("#") else "code" if line.strip() else "blank"
        for line in source.splitlines()
    ]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            end = node.end_lineno or node.lineno
            kinds[node.lineno - 1 : end] = ["docstrings"] * (end - node.lineno + 1)
    return Counter(kinds) + Counter(files=1, lines=len(kinds))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("revision", nargs="?", default="HEAD")
    revision = parser.parse_args().revision
    check = ("git", "cat-file", "-e", f"{revision}^{{commit}}")
    if subprocess.run(check, cwd=ROOT, capture_output=True).returncode:
        parser.error(f"{revision}: git knows no such revision; git log lists them")
    folders: dict[str, Counter[str]] = {}
    for path in git("ls-tree", "-r", "--name-only", revision, PACKAGE).splitlines():
        if path.endswith(".py"):
            inside = PurePath(path).relative_to(PACKAGE).parts
            folder = inside[0] if len(inside) > 1 else "nmrgcl"
            folders[folder] = folders.get(folder, Counter()) + counts(git("show", f"{revision}:{path}"))
    rows = sorted(folders.items(), key=lambda row: -row[1]["lines"])
    print(f"{'':<12}" + "".join(f"{column:>12}" for column in COLUMNS))
    for folder, found in [*rows, ("all", sum(folders.values(), Counter()))]:
        print(f"{folder:<12}" + "".join(f"{found[column]:>12,}" for column in COLUMNS))


if __name__ == "__main__":
    main()
