"""Every link between pages leads somewhere, as a reader of the repository follows it; ``make docs`` checks the site."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
WRITTEN = [page for page in sorted((ROOT / "docs").rglob("*.md")) if page.parent.name != "reference"]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *WRITTEN]
FENCED = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", FENCED.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-") for text in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    text = re.sub(r"`[^`\n]*`", "", FENCED.sub("", page.read_text(encoding="utf-8")))
    for link in re.findall(r"\]\((?!https?:)([^)\s]+)\)", text):
        name, _, anchor = link.partition("#")
        target = page.parent / name if name else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def test_every_page_is_in_the_navigation_once() -> None:
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    entries = re.findall(r"^[^:`\n]* <([\w/-]+)>$", index, re.MULTILINE)
    pages = {str(page.relative_to(ROOT / "docs").with_suffix("")) for page in WRITTEN}
    assert sorted(entry for entry in entries if not entry.startswith("reference/")) == sorted(pages - {"index"})


def test_every_example_is_listed_shown_on_one_page_and_short() -> None:
    pages = [page.read_text(encoding="utf-8") for page in WRITTEN]
    listed = (ROOT / "docs" / "examples.md").read_text(encoding="utf-8")
    for file in (ROOT / "examples").glob("*.py"):
        assert f"`{file.name}`" in listed
        assert sum(f"../examples/{file.name}\n" in page for page in pages) == 1, file.name
        assert len(file.read_text(encoding="utf-8").splitlines()) < 60, file.name
