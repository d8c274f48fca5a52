"""The list of forms that operations have."""

from nmrgcl.ops.forms import Form, switched_off


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
