"""Property paths as the engine and the programs write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rehearsal.providers.change.paths import holds, is_within, parse, written

STEPS = st.one_of(st.integers(0, 99), st.text(st.characters(exclude_characters="\\*"), min_size=1))


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("vpcConfig.subnetIds[0]", ("vpcConfig", "subnetIds", 0)),
        ('metadata.annotations["a.b/c"]', ("metadata", "annotations", "a.b/c")),
        ('["a.b"].c', ("a.b", "c")),
        ("spec.containers[*].image", ("spec", "containers", "*", "image")),
        ("*", ("*",)),
    ],
)
def test_a_path_is_read_step_by_step(text, path):
    assert parse(text) == path


@given(st.lists(STEPS, min_size=1).map(tuple))
def test_what_is_written_is_read_back(path):
    assert parse(written(path)) == path


@pytest.mark.parametrize("text", ["a[", "a]", 'a["b'])
def test_what_is_no_path_is_refused(text):
    with pytest.raises(ValueError, match="is not a property path"):
        parse(text)


def test_a_place_is_within_itself_and_what_is_above_it():
    assert is_within(("a", 0, "b"), ("a", "*"))
    assert is_within(("a", 0, "b"), ("a", 0, "b"))
    assert not is_within(("a",), ("a", 0))
    assert not is_within(("b", 0), ("a",))


def test_a_value_holds_what_is_inside_it():
    value = {"b": [{"c": 1}, {"d": None}]}
    assert holds(("a",), value, ("a", "b", "*", "c"))
    assert not holds(("a",), value, ("a", "b", "*", "d"))
    assert not holds(("a",), value, ("a",))
    assert not holds(("a",), "unknown", ("a", "b"))
