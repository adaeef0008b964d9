"""Print the argument table of `vllm serve`, read from the parser of the vLLM installed here.

Run with the Python of an environment that has that vLLM: `python dump.py > 0.26.0.json`. The parser
runs on a machine with no GPU, so this module stands alone and is never imported by the program.

The parser lets through what the engine then refuses, so a row also has what the engine's own classes say of a value
(`schema`) and the names that it finds in its registries (`registered`).
"""

import argparse
import ast
import contextlib
import dataclasses
import importlib.util
import inspect
import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

# What a value must look like, by the function that parses it. A name that is not here stops the
# dump: a new kind of value in a new vLLM needs a look at what that function takes.
_KINDS = {
    "int": "int",
    "float": "float",
    "str": "text",
    "human_readable_int": "size",
    "human_readable_int_or_auto": "size-or-auto",
    "loads": "json",
    "parse_dataclass": "object",
    "union_dict_and_str": "json-or-text",
    "parse_reasoning_parser": "text",
}
_JSON_KINDS = ("object", "json", "json-or-text", "pair-or-object")
_NUMBERS = ("int", "float", "size", "size-or-auto")
_WRAPPED = "return_type"  # the variable in which vLLM's wrappers keep the function that they wrap
_COMMAND_LINES = ("vllm.entrypoints.openai.cli_args", "vllm.entrypoints.common.cli_args")  # in 0.26, and in 0.33


def main() -> None:
    """Write the table to standard output, one flag a line."""
    # Some defaults follow the environment, and vLLM logs to standard output.
    for name in [name for name in os.environ if name.startswith("VLLM_")]:
        del os.environ[name]
    os.environ["VLLM_LOGGING_LEVEL"] = "ERROR"
    with contextlib.redirect_stdout(sys.stderr):
        text = document(_parser())
    sys.stdout.write(text)


def document(parser: argparse.ArgumentParser) -> str:
    """Return the table of a parser of `vllm serve`, one flag a line."""
    flags = dict(_flag(parser, action) for action in _options(parser))
    engine = str(_vllm("vllm.version").__version__).partition("+")[0]
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(flags[name], sort_keys=True)}" for name in sorted(flags))
    return f'{{\n "engine": {json.dumps(engine)},\n "flags": {{\n{lines}\n }},\n "source": "vllm {engine} parser"\n}}\n'


def _vllm(module: str) -> Any:
    return importlib.import_module(module)


def _parser() -> argparse.ArgumentParser:
    """Return the real parser, with a pretended CUDA platform: its defaults ask for one."""
    platforms, interface = _vllm("vllm.platforms"), _vllm("vllm.platforms.interface")
    cuda = {
        "_enum": interface.PlatformEnum.CUDA,
        "device_name": "cuda",
        "device_type": "cuda",
        "dispatch_key": "CUDA",
        "uses_host_device_handling": classmethod(lambda _: False),
    }
    platforms._current_platform = type("Cuda", (interface.Platform,), cuda)()
    empty = _vllm("vllm.utils.argparse_utils").FlexibleArgumentParser(prog="vllm serve")
    parser: argparse.ArgumentParser = command_line().make_arg_parser(empty)
    return parser


def command_line() -> Any:
    """Return the module that makes and checks the arguments of `vllm serve`."""
    if found := next(filter(importlib.util.find_spec, _COMMAND_LINES), None):
        return _vllm(found)
    raise SystemExit(f"no {' nor '.join(_COMMAND_LINES)} in this vLLM")


def _options(parser: argparse.ArgumentParser) -> Iterable[argparse.Action]:
    return (a for a in parser._actions if a.option_strings and a.dest != "help")


def _flag(parser: argparse.ArgumentParser, action: argparse.Action) -> tuple[str, dict[str, Any]]:
    """Return the canonical name of an option and its row."""
    # 0.33 also takes `--no-enable-x` for `--disable-x`, hidden: it is left out here too.
    spellings = list(action.option_strings)
    name = next(s for s in spellings if s.startswith("--"))
    row: dict[str, Any] = {}
    if action.nargs == 0:
        negative = [s for s in spellings if _stored(parser, action, s) is False]
        row["kind"] = "switch"
        row["default"] = action.default if isinstance(action.default, bool) else None
        if len(negative) > 1:
            raise SystemExit(f"{name}: the table cannot say two negatives, {negative}")
        if negative:
            row["negative"] = _bare(negative[0])
        spellings = [s for s in spellings if s not in negative]
    else:
        parse = _unwrapped(action.type)
        row["kind"] = "pair-or-object" if type(action).__name__ == "LoRAParserAction" else _kind(name, parse)
        row |= _beyond_the_parser(parser, action, row["kind"], parse)
        if action.choices is not None:
            row["choices"] = sorted(_accepted(action), key=lambda c: (int(c) if c.isdigit() else 0, c))
        if action.nargs in ("+", "*"):
            row["many"] = True
        elif action.nargs == "?":
            row["optional"] = True
        elif action.nargs is not None:
            raise SystemExit(f"{name}: the table cannot say nargs={action.nargs!r}")
    if others := [_bare(s) for s in spellings if s != name]:
        row["aliases"] = others
    return _bare(name), row


def _beyond_the_parser(
    parser: argparse.ArgumentParser, action: argparse.Action, kind: str, parse: Callable[[str], object]
) -> dict[str, Any]:
    """Return what the engine makes of a value that the parser lets through."""
    row: dict[str, Any] = {}
    if (name := _bare(action.option_strings[0])) in _REGISTRIES:
        row["registered"] = sorted(_REGISTRIES[name]())
    elif isinstance(action.metavar, list | tuple):  # names that the type lists beside any other text
        row["registered"] = sorted(map(str, action.metavar))
    if name in _PLUGINS:
        row["plugin"] = _PLUGINS[name]
    if parse.__name__ == "parse_dataclass":
        schema = _schema((parse.__defaults__ or ())[0])
    elif name in _OBJECTS:
        schema = {"type": "object"}
    elif kind == "pair-or-object":
        schema = {**_schema(command_line().LoRAModulePath), "additionalProperties": False}
    else:
        schema = _schema(_field(parser, action))
    if kind in _JSON_KINDS and schema:
        row["schema"] = schema
    if kind in _NUMBERS:
        # beside None, which is never written
        number = next((it for it in schema.get("anyOf", []) if it.get("type") in ("integer", "number")), schema)
        if limits := {key: number[key] for key in _LIMITS if key in number}:
            row["schema"] = limits
    return row


def _load_formats() -> Iterable[str]:
    # The module itself needs the compiled extensions.
    source = Path(_vllm("vllm").__file__).parent / "model_executor" / "model_loader" / "__init__.py"
    for node in ast.parse(source.read_text()).body:
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "_LOAD_FORMAT_TO_MODEL_LOADER":
            return [ast.literal_eval(key) for key in node.value.keys]  # type: ignore[union-attr]
    raise SystemExit("no table of load formats in this vLLM")


_REGISTRIES: Mapping[str, Callable[[], Iterable[str]]] = {
    "attention-backend": lambda: _vllm("vllm.v1.attention.backends.registry").AttentionBackendEnum.__members__,
    "load-format": _load_formats,
    "mamba-backend": lambda: _vllm("vllm.config.mamba").MambaBackendEnum.__members__,
    "optimization-level": lambda: [str(it.value) for it in _vllm("vllm.config.vllm").OptimizationLevel],
    "quantization": lambda: _vllm("vllm.model_executor.layers.quantization").QUANTIZATION_METHODS,
    "reasoning-parser": lambda: list(_vllm("vllm.reasoning").ReasoningParserManager.list_registered()),
    "tool-call-parser": lambda: list(_vllm("vllm.tool_parsers").ToolParserManager.list_registered()),
}
"""By flag: the names that the engine knows. Found by giving each flag of both versions a name that is none."""

_OBJECTS = ("model-loader-extra-config",)
"""Flags whose text the engine takes for an object, whatever its types say."""

_PLUGINS = {"reasoning-parser": "reasoning-parser-plugin", "tool-call-parser": "tool-parser-plugin"}
"""By flag: the flag that registers further names."""


def _field(parser: argparse.ArgumentParser, action: argparse.Action) -> Any:
    """Return the type, with its limits, of the field of vLLM's configuration that a flag sets; Any without one."""
    config = _vllm("vllm.config")
    titles = [group.title for group in parser._action_groups if action in group._group_actions]
    owners = [getattr(config, str(title), None) for title in titles]
    owners += [it for it in vars(config).values() if dataclasses.is_dataclass(it)]
    for owner in owners:
        info = getattr(owner, "__pydantic_fields__", {}).get(action.dest)
        if info is not None:
            decorators: Any = owner
            validators = decorators.__pydantic_decorators__.field_validators.values()
            its = [it for it in validators if {action.dest, "*"} & set(it.info.fields)]
            if any(it.info.mode != "after" and it.cls_var_name != _NONE_TOO for it in its):
                return Any  # it may take what the type does not say
            return Annotated[info.annotation, *info.metadata] if info.metadata else info.annotation
    both = (command_line().FrontendArgs, _vllm("vllm.engine.arg_utils").AsyncEngineArgs)
    kind = {it.name: it.type for owner in both for it in dataclasses.fields(owner)}.get(action.dest, Any)
    return Any if isinstance(kind, str) else kind  # named where only type checkers look


_ONLY_REFUSE = ("reject_removed_parameters", "validate_pass_config_before")
"""Validators that change nothing: what follows them says what is taken."""
_NONE_TOO = "_skip_none_validation"
"""A validator that takes None and leaves the rest to the type."""
_IMPOSSIBLE: Mapping[str, Any] = {"enum": []}
"""What no JSON text can be."""
_LIMITS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
_SAID = {"type", "enum", "const", "required", "minItems", "maxItems", *_LIMITS}
_WITHIN = {"items", "additionalProperties", "properties", "prefixItems", "anyOf", "oneOf"}
_SILENT = {"$ref", "$defs", "title", "description", "default", "format", "uniqueItems", "minProperties"}
_SILENT |= {"propertyNames", "pattern", "discriminator"}


def _schemas() -> type[GenerateJsonSchema]:
    """Return what makes schemas that allow at least what pydantic allows."""

    def before(self: Any, schema: Any) -> Any:
        name = getattr(schema["function"]["function"], "__name__", "")
        return self.generate_inner(schema["schema"]) if name in _ONLY_REFUSE else {}

    def fields(self: Any, schema: Any) -> Any:
        taken: Any = {**schema, "fields": [it for it in schema["fields"] if it.get("init", True)]}
        return GenerateJsonSchema.dataclass_args_schema(self, taken)

    def wrap(self: Any, schema: Any) -> Any:
        name = getattr(schema["function"]["function"], "__name__", "")
        return {"anyOf": [self.generate_inner(schema["schema"]), {"type": "null"}]} if name == _NONE_TOO else {}

    ways: dict[str, Any] = {"function_before_schema": before, "dataclass_args_schema": fields}
    ways |= {"function_wrap_schema": wrap, "function_plain_schema": lambda *_: {}}
    ways |= dict.fromkeys(("callable_schema", "is_instance_schema"), lambda *_: dict(_IMPOSSIBLE))
    return type("Schemas", (GenerateJsonSchema,), ways)


def _schema(kind: Any) -> dict[str, Any]:
    made = TypeAdapter(kind, config=None if dataclasses.is_dataclass(kind) else {"arbitrary_types_allowed": True})
    whole = made.json_schema(schema_generator=_schemas())
    found: dict[str, Any] = _cut(whole, whole.get("$defs", {}))
    return found


def _cut(schema: Any, named: Mapping[str, Any]) -> Any:
    """Return a schema down to the words that `serving/arguments/schema.py` knows, its references resolved."""
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _cut(named[schema["$ref"].rpartition("/")[2]], named)
    if strange := set(schema) - _SAID - _WITHIN - _SILENT:
        raise SystemExit(f"a schema says {', '.join(sorted(strange))}: teach it to serving/arguments/schema.py")
    cut = {word: value for word, value in schema.items() if word in _SAID}
    cut |= {word: _cut(schema[word], named) for word in ("items", "additionalProperties") if schema.get(word, {}) != {}}
    if "properties" in schema:
        cut["properties"] = {name: _cut(value, named) for name, value in schema["properties"].items()}
    if "prefixItems" in schema:
        cut["prefixItems"] = [_cut(value, named) for value in schema["prefixItems"]]
    if either := schema.get("anyOf", schema.get("oneOf")):
        branches = [it for branch in either if (it := _cut(branch, named)) != _IMPOSSIBLE]
        if {} in branches:
            return {}
        cut |= branches[0] if len(branches) == 1 else {"anyOf": branches}
    return cut


def _bare(spelling: str) -> str:
    return spelling.lstrip("-")


def _stored(parser: argparse.ArgumentParser, action: argparse.Action, spelling: str) -> object:
    namespace = argparse.Namespace()
    action(parser, namespace, [], spelling)
    return getattr(namespace, action.dest)


def _unwrapped(parse: Any) -> Callable[[str], object]:
    """Return the function under vLLM's `optional_type` and `parse_type`."""
    while inspect.isfunction(parse) and _WRAPPED in parse.__code__.co_freevars:
        parse = inspect.getclosurevars(parse).nonlocals[_WRAPPED]
    return parse or str


def _kind(name: str, parse: Callable[[str], object]) -> str:
    # The lambdas only rewrite a text: lower case, or a list split at commas.
    if parse.__name__ == "<lambda>" and parse("Any-Text") in ("any_text", ["Any-Text"]):
        return "text"
    if parse.__name__ not in _KINDS:
        raise SystemExit(f"{name}: what does {parse.__name__} take? Add it to the kinds")
    return _KINDS[parse.__name__]


def _accepted(action: argparse.Action) -> set[str]:
    """Return the choices that come through: 0.26 lists "None" but turns it into None first."""
    choices = list(action.choices or ())
    parse = action.type if callable(action.type) else str
    return {str(choice) for choice in choices if parse(str(choice)) in choices}


if __name__ == "__main__":
    main()
