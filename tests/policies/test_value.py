"""Reading a value: unknown, missing and of a wrong type come out where it is read, with its path."""

import pytest

from guardrails.value import UNKNOWNS, MalformedError, NotKnownError, Value
from tests.policies.conftest import UNKNOWN

READS = {
    "mapping": Value.mapping,
    "fields": lambda it: list(it.fields()),
    "items": lambda it: list(it.items()),
    "one or more": lambda it: list(it.one_or_more()),
    "text": Value.text,
    "number": Value.number,
    "flag": Value.flag,
    "document": Value.document,
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
@pytest.mark.parametrize("unknown", sorted(UNKNOWNS))
def test_what_is_not_known_raises_its_path_wherever_it_is_read(read, unknown):
    value = Value({"spec": {"x": unknown}})["spec"]["x"]
    with pytest.raises(NotKnownError) as raised:
        read(value)
    assert str(raised.value) == "spec.x"
    # a key below it is no more known
    with pytest.raises(NotKnownError, match=r"^spec\.x$"):
        value["deeper"]


@pytest.mark.parametrize(
    ("read", "empty"),
    [
        ("mapping", {}),
        ("fields", []),
        ("items", []),
        ("one or more", []),
        ("text", ""),
        ("number", None),
        ("flag", None),
    ],
)
def test_what_is_missing_is_empty(read, empty):
    missing = Value({}).at("spec", "template", "spec")
    assert (READS[read](missing), missing.is_missing, missing.path) == (empty, True, "spec.template.spec")


@pytest.mark.parametrize(
    ("read", "raw", "said"),
    [
        ("mapping", "x", "a.b: expected a mapping, found a text"),
        ("mapping", [1], "a.b: expected a mapping, found a list"),
        ("items", "x", "a.b: expected a list, found a text"),
        ("items", {"x": 1}, "a.b: expected a list, found a mapping"),
        ("items", 3, "a.b: expected a list, found a number"),
        ("one or more", True, "a.b: expected a list, found true or false"),
        ("text", 3.0, "a.b: expected a text, found a number"),
        ("number", "3", "a.b: expected a number, found a text"),
        ("number", True, "a.b: expected a number, found true or false"),
        ("flag", "true", "a.b: expected true or false, found a text"),
        ("flag", 1, "a.b: expected true or false, found a number"),
    ],
)
def test_a_wrong_type_says_path_and_both_types(read, raw, said):
    with pytest.raises(MalformedError) as raised:
        READS[read](Value({"a": {"b": raw}}).at("a", "b"))
    assert str(raised.value) == said


def test_items_know_their_place():
    assert [it.path for it in Value({"a": [1, 2]})["a"].items()] == ["a[0]", "a[1]"]


def test_a_document_is_read_from_a_text_or_taken_as_it_is():
    assert Value({"policy": '{"a": 1}'})["policy"].document()["a"].number() == 1
    assert Value({"policy": {"a": 1}})["policy"].document()["a"].path == "policy.a"


def test_a_document_with_an_unknown_part_is_not_known():
    with pytest.raises(NotKnownError, match=r"^policy$"):
        Value({"policy": f'{{"Resource": "arn:aws:s3:::{UNKNOWN}/*"}}'})["policy"].document()


def test_a_text_that_is_no_document_is_malformed():
    with pytest.raises(MalformedError, match=r"^policy: no JSON: Expecting value: line 1 column 1 \(char 0\)$"):
        Value({"policy": "x"})["policy"].document()
