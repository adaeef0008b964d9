"""YAML as Pulumi makes JSON of it. What the real engine does with the same is in test_engine_reads.py."""

import json

import pytest

from ops.stack.pulumi_yaml import MOST_VALUES, UnreadableError, tree


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("no", "no"),
        ("on", "on"),
        ("12:30", "12:30"),
        ("true", True),
        ("tRUE", "tRUE"),
        ("~", None),
        ('"1"', "1"),
        ("|\n  1\n", "1\n"),
        ("4.0", 4),
        ("1e3", 1000),
        ("1e20", 100000000000000000000),
        ("1e21", 1e21),
        ("-0.0", 0),
        ("0.5", 0.5),
        (".5", 0.5),
        (".4_5", 0.45),
        ("._5", "._5"),
        ("1e400", "1e400"),
        ("1_000", 1000),
        ("_1", "_1"),
        ("0x10", 16),
        ("0b12", "0b12"),
        ("0o17", 15),
        ("-0O17", -15),
        ("010", 8),
        ("08", 8),
        ("9223372036854775807", 9223372036854775807),
        ("9223372036854775808", 9223372036854776000),
        ("123456789012345678901", 123456789012345680000),
        ("2020-01-01", "2020-01-01 00:00:00 +0000 UTC"),
        ("2020-1-1T1:2:3.50Z", "2020-01-01 01:02:03.5 +0000 UTC"),
        ("2020-01-01t10:00:00-05:30", "2020-01-01 10:00:00 -0530 -0530"),
        ("2020-01-01 10:00:00", "2020-01-01 10:00:00 +0000 UTC"),
        ("2020-01-01T10:00:00", "2020-01-01T10:00:00"),
        ("2020-01-01 10:00:00Z", "2020-01-01 10:00:00Z"),
        ("2020-02-30", "2020-02-30"),
        ("2020-01-01 24:00:00", "2020-01-01 24:00:00"),
        ("!!str 4.0", "4.0"),
        ("!!float 4", 4),
        ("!!int '5'", 5),
        ("!own 4.0", "4.0"),
        ("{1: a, 0x1F: b}", {"1": "a", "31": "b"}),
        (
            "{1.0: a, 2.5: b, 1e6: c, 12345678.5: d, 1e-7: e, -0.0: f}",
            {"0": "f", "1": "a", "1.23456785e+07": "d", "1e+06": "c", "1e-07": "e", "2.5": "b"},
        ),
        ("{~: a, True: b, 2020-01-01: c}", {"2020-01-01 00:00:00 +0000 UTC": "c", "<nil>": "a", "true": "b"}),
        ("{b: 1, a: [2.0]}", {"a": [2], "b": 1}),
        ("[&a {x: 1, y: 1}, {y: 2, <<: *a}]", [{"x": 1, "y": 1}, {"x": 1, "y": 2}]),
        ("{<<: [{a: 1}, {a: 2, b: 2}], b: 3}", {"a": 1, "b": 3}),
    ],
)
def test_a_value_is_what_the_program_gets(written, meant):
    """As JSON, so with types and the order of keys: `4` is another flag than `4.0`, and another cache key."""
    assert json.dumps(tree(written.encode())) == json.dumps(meant)


@pytest.mark.parametrize(
    ("written", "line"),
    [
        ("{a: {seed: 1, seed: 2}}", "a.seed stands there twice"),
        ("{1: a, '1': b}", "1 stands there twice"),
        ("{<<: {a: 1}, <<: {b: 1}}", "<< stands there twice"),
        ("{args: &a {seed: *a}}", "args.seed contains itself"),
        ("&a [*a]", "[0] contains itself"),
        ("{a: [.inf]}", "a[0]: .inf is not a finite number"),
        ("{a: .NaN}", "a: .NaN is not a finite number"),
        ("{<<: 1}", "<<: expected a mapping, or a list of them, to take keys from"),
        ("{a: {[b]: 1}}", "a: a list or mapping is no key"),
        ("{a: !!null x}", "a: 'x' is no null"),
        ("{a: !!binary aGVsbG8=}", "a: !!binary is not read here"),
        ('{a: "\\ud800"}', "a: half of a surrogate pair is no text"),
    ],
)
def test_what_pulumi_refuses_is_refused_in_one_line(written, line):
    with pytest.raises(UnreadableError) as refused:
        tree(written.encode())
    assert str(refused.value) == line


def test_all_mistakes_are_told_at_once():
    with pytest.raises(UnreadableError) as refused:
        tree(b"{a: 1, a: 2, b: .inf}")
    assert str(refused.value) == (
        "the stack file has 2 mistakes:\n  a stands there twice\n  b: .inf is not a finite number"
    )


def laughs(depth):
    """Lines of which each repeats the one before ten times."""
    lines = ["a0: &a0 [x]", *(f"a{it}: &a{it} [{', '.join([f'*a{it - 1}'] * 10)}]" for it in range(1, depth + 1))]
    return "\n".join(lines).encode()


def test_aliases_do_not_write_more_than_memory_holds():
    """Pulumi has a bound of its own, and far from every real file."""
    assert len(tree(laughs(4))["a4"]) == 10
    with pytest.raises(UnreadableError) as refused:
        tree(laughs(5))
    assert str(refused.value) == f"more than {MOST_VALUES} values, with what aliases repeat"
