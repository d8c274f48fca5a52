"""The list of forms that operations have."""

from itertools import groupby
from pathlib import Path

from nmrgcl.ops.forms import Form, forms, switched_off

PAGE = Path(__file__).parents[1] / "docs" / "performance.md"


def table() -> str:
    """The table in docs/performance.md; ``python -c "from tests.test_forms import table; print(table())"``."""
    rows = [f"| {form.operation} | {form.name} | {form.when} |" for form in forms()]
    return "\n".join(["| operation | form | when |", "|---|---|---|", *rows])


def test_the_documentation_lists_the_forms() -> None:
    assert table() in PAGE.read_text(encoding="utf-8"), table()


def test_each_operation_is_listed_once_with_several_forms_of_different_names() -> None:
    for operation, group in groupby(forms(), lambda form: form.operation):
        names = [form.name for form in group]
        assert len(set(names)) == len(names) > 1, operation
    assert len({form.operation for form in forms()}) == len([*groupby(forms(), lambda form: form.operation)])


def test_a_form_is_off_inside_and_on_again_after_an_error() -> None:
    one, other = (Form("sum", "plain", "always") for _ in range(2))
    try:
        with switched_off(one), switched_off(one):
            assert not one.on
            assert other.on
            raise KeyError
    except KeyError:
        pass
    assert one.on
