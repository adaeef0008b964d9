"""What differs is told by what things are, not by where they stand."""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops.impact.leaves import Change, changes

POD = {
    "containers": [
        {
            "name": "vllm",
            "command": ["python3", "-B"],
            "args": ["s3://m/", "--a=1", "--b", "2", "3", "--c"],
            "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
            "volumeMounts": [{"mountPath": "/x", "name": "v"}, {"mountPath": "/y", "name": "v"}],
        }
    ],
    "hosts": ["a", "b"],
}


def moved(change):
    after = copy.deepcopy(POD)
    change(after, after["containers"][0])
    return [(it.path, it.before, it.after) for it in changes(POD, after)]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda _, c: c["env"].insert(0, {"name": "Z", "value": "9"}),
            [("env[Z].name", None, "Z"), ("env[Z].value", None, "9")],
        ),
        (lambda _, c: c["env"].pop(0), [("env[A].name", "A", None), ("env[A].value", "1", None)]),
        (lambda _, c: c["env"].reverse(), [("env (order)", ["A", "B"], ["B", "A"])]),
        (lambda _, c: c["args"].insert(1, "--new"), [("args[--new]", None, "")]),
        (lambda _, c: c["args"].__setitem__(1, "--a=5"), [("args[--a]", "1", "5")]),
        (lambda _, c: c["args"].__setitem__(3, "7"), [("args[--b]", "2 3", "7 3")]),
        (lambda _, c: c["args"].__setitem__(0, "s3://n/"), [("args[0]", "s3://m/", "s3://n/")]),
        (lambda _, c: c["command"].append("-S"), [("command", "python3 -B", "python3 -B -S")]),
        (lambda _, c: c["volumeMounts"][1].update(name="w"), [("volumeMounts[/y].name", "v", "w")]),
    ],
    ids=["added", "removed", "order", "flag", "value", "words", "positional", "command", "mount"],
)
def test_only_the_thing_itself_is_named(change, said):
    assert moved(change) == [(f"containers[vllm].{path}", *pair) for path, *pair in said]


def test_what_nothing_tells_apart_is_told_by_its_place():
    assert moved(lambda pod, _: pod["hosts"].append("c")) == [("hosts[2]", None, "c")]


def test_two_of_one_name_are_told_by_their_place():
    twice = [{"name": "a", "value": "1"}, {"name": "a", "value": "2"}]
    assert changes({"env": twice}, {"env": [twice[0], {"name": "a", "value": "3"}]}) == (
        Change("env[1].value", "2", "3"),
    )


def test_true_is_not_one():
    assert changes({"a": 1}, {"a": True}) == (Change("a", 1, True),)


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from(["x", "--x", "--x=1", "--y"]),
    lambda below: (
        st.lists(below, max_size=3)
        | st.dictionaries(st.sampled_from(["name", "args", "command", "key", "env"]), below, max_size=3)
        | st.lists(st.fixed_dictionaries({"name": st.sampled_from("ab")}, optional={"env": below}), max_size=3)
    ),
    max_leaves=12,
)


@given(_VALUES, _VALUES)
def test_nothing_is_named_when_and_only_when_both_are_equal(one, other):
    assert changes(one, one) == ()
    if repr(one) != repr(other) and not same(one, other):
        assert changes(one, other) != ()


def same(one, other):
    """Key order is no difference; nor is, in a command line, `--x=1` for `--x 1`, or a null for nothing."""
    return plain(one) == plain(other)


def plain(value, field=""):
    if isinstance(value, dict):
        return {key: plain(it, key) for key, it in value.items() if it is not None} or "{}"
    if isinstance(value, list):
        texts = bool(value) and all(isinstance(it, str) for it in value)
        if texts and field in {"args", "command"}:
            return " ".join(value).replace("=", " ")
        return [plain(it, field) for it in value] or "[]"
    return repr(value)
