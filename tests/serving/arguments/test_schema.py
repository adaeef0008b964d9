"""What the program says of a JSON value agrees with the schemas of vLLM's classes, and with what pydantic takes."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from serving.arguments import ENGINES, table
from serving.arguments.schema import problem

SCHEMAS = [
    pytest.param(row.schema, id=f"{engine}-{name}")
    for engine in ENGINES
    for name, row in table(engine).items()
    if row.kind in ("object", "json")
    if row.schema
]
PLAIN = st.recursive(
    st.none() | st.integers(-3, 3) | st.sampled_from(["word", "größe", "auto"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["a", "mode", "größe"]), inner),
    max_leaves=4,
)
"""Without what JSON Schema and pydantic see differently: booleans as numbers, numbers and booleans in text."""


def lax(schema):
    """0 and 1 are booleans to pydantic."""
    if isinstance(schema, list):
        return [lax(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("type") == "boolean":
        return {"anyOf": [{"type": "boolean"}, {"enum": [0, 1]}]}
    return {word: lax(value) for word, value in schema.items()}


@pytest.mark.parametrize("schema", SCHEMAS)
@given(data=st.data())
@settings(max_examples=20, deadline=None, derandomize=True)
def test_a_value_is_refused_exactly_when_the_schema_refuses_it(schema, data) -> None:
    keys = st.sampled_from([*schema.get("properties", {"a": 0}), "no-such-key"])
    value = data.draw(PLAIN | st.dictionaries(keys, PLAIN, max_size=2))
    assert (problem(schema, value) is None) == Draft202012Validator(lax(schema)).is_valid(value)


@pytest.mark.parametrize(
    ("kind", "taken", "refused"),
    [
        ("integer", [3, -1, 3.0, "3", "+3", " 3 ", "1_000", "3.0", True], [1.5, "1.5", "x", "", None, [], {}]),
        ("number", [3, 1.5, "1.5", "1e3", True], ["x", "", None, [], {}]),
        ("boolean", [True, False, 0, 1, 1.0, "true", "OFF", "y"], [2, 0.5, "maybe", "", None, [], {}]),
        ("string", ["", "x", "größe"], [1, True, None, [], {}]),
        ("array", [[], [1]], ["x", {}, None]),
        ("object", [{}, {"a": 1}], ["x", [], None]),
        ("null", [None], [0, "", False]),
    ],
)
def test_a_value_of_a_type_is_what_pydantic_takes_for_it(kind: str, taken: list[object], refused: list[object]) -> None:
    assert [value for value in taken if problem({"type": kind}, value)] == []
    assert [value for value in refused if not problem({"type": kind}, value)] == []


OBJECT = {
    "type": "object",
    "additionalProperties": False,
    "required": ["name"],
    "properties": {
        "name": {"type": "string"},
        "mode": {"enum": ["fast", "slow"], "type": "string"},
        "share": {"exclusiveMinimum": 0, "maximum": 1, "type": "number"},
        "sizes": {"items": {"minimum": 1, "type": "integer"}, "minItems": 1, "maxItems": 2, "type": "array"},
        "pair": {"prefixItems": [{"type": "integer"}, {"type": "string"}], "type": "array"},
        "level": {"const": 3},
        "either": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "inner": {"type": "object", "additionalProperties": {"type": "integer"}},
    },
}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"name": "a"}, None),
        ({"name": "a", "either": None, "inner": {"x": 1}, "pair": [1, "a", "more"], "level": 3, "sizes": [1]}, None),
        ([], "expected an object"),
        ({}, "name: missing"),
        ({"nme": "a", "name": "a"}, "nme: no such key; did you mean name?"),
        ({"name": 1}, "name: expected text"),
        ({"name": "a", "mode": "fst"}, "mode: did you mean fast?"),
        ({"name": "a", "share": 0}, "share: expected > 0"),
        ({"name": "a", "share": "1.5"}, "share: expected <= 1"),
        ({"name": "a", "sizes": []}, "sizes: expected at least 1 items"),
        ({"name": "a", "sizes": [1, 2, 3]}, "sizes: expected at most 2 items"),
        ({"name": "a", "sizes": [1, 0]}, "sizes[1]: expected >= 1"),
        ({"name": "a", "pair": ["x", "a"]}, "pair[0]: expected a whole number"),
        ({"name": "a", "level": 4}, "level: expected 3"),
        ({"name": "a", "either": "x"}, "either: expected a whole number or null"),
        ({"name": "a", "inner": {"x": "y"}}, "inner.x: expected a whole number"),
    ],
)
def test_a_refusal_names_the_key_and_what_is_expected(value: object, message: str | None) -> None:
    assert problem(OBJECT, value) == message
