"""Values that a flag takes, drawn by its row of the argument table."""

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from serving.arguments import Argument

TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=20)
MOST = 10**12


def value_of(argument: Argument) -> st.SearchStrategy[Any]:
    if argument.kind == "switch":
        return st.just(True) if argument.default is not True else st.just(False)
    if argument.choices:
        one: st.SearchStrategy[Any] = st.sampled_from(argument.choices)
    elif argument.kind in ("object", "json", "json-or-text"):
        one = _of(argument.schema or {"type": "object"}).filter(lambda value: isinstance(value, Mapping | list))
    else:
        one = {
            "int": _of({"minimum": 0, **argument.schema, "type": "integer"}),
            "float": _of({"minimum": 0, **argument.schema, "type": "number"}),
            "size": _of({"minimum": 0, **argument.schema, "type": "integer"}),
            "size-or-auto": st.integers(0, MOST),
            "pair-or-object": st.sampled_from(["a=/models/a", "b=/models/b"]),
            "text": TEXT.filter(lambda text: not text.startswith("-")),
        }[argument.kind]
    # an item that is nothing to vLLM is refused
    several = st.lists(one.filter(lambda item: item not in ("", "None")), min_size=1, max_size=3)
    return several if argument.many else one


def _of(schema: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    if branches := schema.get("anyOf"):
        return st.one_of(map(_of, branches))
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if "const" in schema:
        return st.just(schema["const"])
    low = schema.get("minimum", schema.get("exclusiveMinimum", 0))
    high = schema.get("maximum", schema.get("exclusiveMaximum", low + MOST))
    open_ends = {"exclude_min": "exclusiveMinimum" in schema, "exclude_max": "exclusiveMaximum" in schema}
    match schema.get("type"):
        case "integer":
            return st.integers(int(low) + open_ends["exclude_min"], int(high) - open_ends["exclude_max"])
        case "number":
            return st.floats(low, high, allow_subnormal=False, **open_ends)
        case "boolean":
            return st.booleans()
        case "string":
            return TEXT
        case "null":
            return st.none()
        case "array":
            least, most = schema.get("minItems", 0), schema.get("maxItems", 3)
            if fixed := schema.get("prefixItems"):
                return st.tuples(*map(_of, fixed)).map(list)
            return st.lists(_of(schema.get("items", {})), min_size=least, max_size=most)
        case "object":
            known = {name: _of(inner) for name, inner in schema.get("properties", {}).items()}
            needed = {name: known.pop(name) for name in schema.get("required", [])}
            further = schema.get("additionalProperties", {})
            if further is False or known or needed:
                return st.fixed_dictionaries(needed, optional=known)
            return st.dictionaries(TEXT, _of(further if isinstance(further, Mapping) else {}), max_size=3)
    return st.integers() | TEXT
