"""Which change of the outputs breaks a reader, row by row; and that no output can be dropped, whichever it is."""

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, create_model

from contract.compatibility import incompatible
from contract.release import current


class Inner(BaseModel):
    url: str
    size: int
    note: str | None = None


BASE: dict[str, Any] = {
    "name": (str, ...),
    "port": (int, ...),
    "hint": (str | None, None),
    "inner": (Inner, ...),
    "by_name": (Mapping[str, Inner], ...),
    "deep": (Mapping[str, Mapping[str, Inner]] | None, None),
    "words": (Sequence[str], ...),
}


def schema(fields: Mapping[str, Any]) -> dict[str, Any]:
    return create_model("Base", **fields).model_json_schema()


def inner(**change: Any) -> type[BaseModel]:
    """`Inner` with some fields changed; None drops one."""
    kept = {name: (field.annotation, field.default if not field.is_required() else ...) for name, field in FIELDS}
    kept |= change
    return create_model("Inner", **{name: it for name, it in kept.items() if it is not None})


FIELDS = list(Inner.model_fields.items())
RENAMED = "is new and of its shape: export both for a release"
NEW = "is new and required; older platforms do not export it: give it a default"
GONE, NULL = "is gone", "may not be missing or null any more; of older platforms it may"
LOOSE = "may be missing or null now; readers rely on it"

COMPATIBLE: list[dict[str, Any]] = [
    {},
    {"added": (str | None, None)},
    {"added": (str, "x")},
    {"added": (Inner | None, None)},
    {"added": (Mapping[str, Inner] | None, None)},
    {"name": (Annotated[str, Field(title="Another", description="other words", examples=["a"])], ...)},
    {"hint": (Annotated[str | None, Field(deprecated="read name")], None)},
    {"hint": (str | None, "another default")},
    {"inner": (inner(added=(str | None, None)), ...)},
    {"by_name": (Mapping[str, inner(added=(int, 0))], ...)},
]

INCOMPATIBLE: list[tuple[dict[str, Any], list[str]]] = [
    ({"name": None}, [f"name: {GONE}"]),
    ({"hint": None}, [f"hint: {GONE}"]),
    # two that could be meant: no guess
    ({"hint": None, "a": (str | None, None), "b": (str | None, None)}, [f"hint: {GONE}"]),
    ({"hint": None, "advice": (str | None, None)}, [f"hint: {GONE}; advice {RENAMED}"]),
    (
        {"name": None, "title": (str, ...)},
        [
            f"name: {GONE}; title {RENAMED}",
            f"title: {NEW}",
        ],
    ),
    ({"name": (int, ...)}, ["name: was string, is integer"]),
    ({"port": (float, ...)}, ["port: was integer, is number"]),
    ({"port": (bool, ...)}, ["port: was integer, is boolean"]),
    ({"name": (Literal["a", "b"], ...)}, ['name: was string, is {"enum": ["a", "b"], "type": "string"}']),
    ({"name": (Annotated[str, Field(max_length=3)], ...)}, ['name: was string, is {"maxLength": 3, "type": "string"}']),
    ({"name": (Inner, ...)}, ["name: was string, is object"]),
    ({"words": (str, ...)}, ["words: was list, is string"]),
    ({"words": (Sequence[int], ...)}, ["words[]: was string, is integer"]),
    ({"words": (Sequence[str | None], ...)}, ["words[]: may be null now; readers rely on it"]),
    ({"name": (str | None, None)}, [f"name: {LOOSE}"]),
    ({"name": (str | None, ...)}, ["name: may be null now; readers rely on it"]),
    ({"name": (str, "x")}, ["name: may be missing now; readers rely on it"]),
    ({"hint": (str, ...)}, [f"hint: {NULL}"]),
    ({"hint": (str | None, ...)}, ["hint: may not be missing any more; of older platforms it may"]),
    ({"hint": (str, "x")}, ["hint: may not be null any more; of older platforms it may"]),
    ({"added": (str, ...)}, [f"added: {NEW}"]),
    ({"inner": (inner(url=None), ...)}, [f"inner.url: {GONE}"]),
    (
        {"by_name": (Mapping[str, inner(url=None, size=(str, ...))], ...)},
        ["by_name.*.size: was integer, is string", f"by_name.*.url: {GONE}"],
    ),
    ({"by_name": (Mapping[str, Inner | None], ...)}, ["by_name.*: may be null now; readers rely on it"]),
    ({"by_name": (Inner, ...)}, ["by_name: was mapping, is object"]),
    ({"by_name": (Sequence[Inner], ...)}, ["by_name: was mapping, is list"]),
    ({"deep": (Mapping[str, Mapping[str, inner(note=(str, ...))]] | None, None)}, [f"deep.*.*.note: {NULL}"]),
    ({"deep": (Mapping[str, Mapping[str, inner(added=(str, ...))]] | None, None)}, [f"deep.*.*.added: {NEW}"]),
]


def changed(change: Mapping[str, Any]) -> dict[str, Any]:
    return {name: field for name, field in {**BASE, **change}.items() if field is not None}


@pytest.mark.parametrize("change", COMPATIBLE, ids=str)
def test_what_is_added_and_may_be_missing_breaks_nobody(change: dict[str, Any]) -> None:
    assert incompatible(schema(BASE), schema(changed(change))) == []


@pytest.mark.parametrize(("change", "said"), INCOMPATIBLE, ids=[str(said) for _, said in INCOMPATIBLE])
def test_what_breaks_a_reader_is_named_with_its_path(change: dict[str, Any], said: list[str]) -> None:
    assert incompatible(schema(BASE), schema(changed(change))) == said


def objects(node: Any) -> Iterator[dict[str, Any]]:
    """Every schema of an object."""
    if isinstance(node, dict):
        if "properties" in node:
            yield node
        for inside in node.values():
            yield from objects(inside)


PLACES = [(number, name) for number, found in enumerate(objects(dict(current()))) for name in found["properties"]]
PATHS = {
    "capacity": "gpuPools.*.capacity",
    "phases": "servers.*.predicted.*.*.phases",
    "evidence": "servers.*.predicted.*.*.phases.*.evidence",
    "labels": "servers.*.pods.labels",
    "kubeconfig": "kubeconfig",
}


def spoilt(number: int, spoil: Callable[[dict[str, Any]], object]) -> list[str]:
    after = copy.deepcopy(dict(current()))
    spoil(list(objects(after))[number])
    return incompatible(current(), after)


@pytest.mark.parametrize(("number", "name"), PLACES, ids=str)
def test_no_output_can_be_dropped_loosened_or_retyped(number: int, name: str) -> None:
    def loosen(node: dict[str, Any]) -> None:
        node["properties"][name] = {"anyOf": [node["properties"][name], {"type": "null"}, {"type": "null"}]}

    def retype(node: dict[str, Any]) -> None:
        node["properties"][name] = {"type": "boolean", "format": "other"}

    def drop(node: dict[str, Any]) -> None:
        del node["properties"][name]

    (gone,) = spoilt(number, drop)
    assert gone.endswith(f"{name}: {GONE}")
    assert PATHS.get(name, name) in gone
    assert spoilt(number, retype)
    (said,) = spoilt(
        number, lambda node: node["required"].remove(name) if name in node.get("required", ()) else drop(node)
    )
    assert said.endswith(("may be missing now; readers rely on it", GONE))


def test_every_object_of_the_outputs_was_tried() -> None:
    assert len(PLACES) > 35
    assert PATHS.keys() <= {name for _, name in PLACES}
