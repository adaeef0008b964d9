"""What every component of `infra` and `serving` has in common. A new one is found by itself."""

import ast
import dataclasses
import inspect
import sys
import textwrap

import pulumi
import pytest

from tests.aliases import STACK
from tests.harness import PROJECT, STACKS, Recording, record, stack_recording
from tests.recording import Registration
from tests.stack.components.builders import ARGS, components

COMPONENTS = components()
Component = type[pulumi.ComponentResource]


class Team(pulumi.ComponentResource):
    """Somebody else's component, with one of ours inside."""

    def __init__(self, name: str) -> None:
        super().__init__("test:index:Team", name)


@pytest.fixture(params=COMPONENTS, ids=lambda kind: kind.__name__)
def kind(request: pytest.FixtureRequest) -> Component:
    return request.param


def test_components_are_found_and_each_has_a_builder() -> None:
    assert {"Network", "Cluster", "VllmServer"} <= {kind.__name__ for kind in COMPONENTS}
    assert set(COMPONENTS) == set(ARGS), "tests/stack/components/builders.py: ARGS needs one entry for each component"


def constructor(kind: Component) -> ast.FunctionDef:
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    (found,) = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "__init__"]
    return found


def test_the_type_token_is_a_literal_made_of_package_and_class(kind: Component) -> None:
    """A token that follows the class's name would rename every URN with it."""
    calls = [node for node in ast.walk(constructor(kind)) if isinstance(node, ast.Call)]
    (call,) = [node for node in calls if ast.unparse(node.func) == "super().__init__"]
    package = kind.__module__.partition(".")[0]
    assert ast.unparse(call) == f"super().__init__('{PROJECT}:{package}:{kind.__name__}', name, None, opts)"


def arguments(kind: Component) -> type:
    return getattr(sys.modules[kind.__module__], f"{kind.__name__}Args")


def test_the_constructor_takes_name_args_and_opts(kind: Component) -> None:
    signature = inspect.signature(kind.__init__, eval_str=True)
    none = inspect.Parameter.empty
    assert [(p.name, p.annotation, p.default) for p in signature.parameters.values()] == [
        ("self", none, none),
        ("name", str, none),
        ("args", arguments(kind), none),
        ("opts", pulumi.ResourceOptions | None, None),
    ]
    assert signature.return_annotation is None


def test_the_arguments_are_a_frozen_dataclass_of_keywords(kind: Component) -> None:
    fields = dataclasses.fields(arguments(kind))
    assert fields
    assert all(field.kw_only for field in fields)
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(object.__new__(arguments(kind)), fields[0].name, 1)


def test_the_constructor_ends_with_registering_outputs(kind: Component) -> None:
    """The engine shows a component as unfinished until then."""
    last = constructor(kind).body[-1]
    assert isinstance(last, ast.Expr)
    assert ast.unparse(last).startswith("self.register_outputs({")
    assert ast.unparse(last) != "self.register_outputs({})"


def alone(kind: Component, *names: str, parent: str | None = None) -> tuple[Recording, list[pulumi.ComponentResource]]:
    """Instances of a component, with whatever they need, below a component of somebody else or below the stack."""
    made: list[pulumi.ComponentResource] = []

    def program() -> None:
        above = pulumi.ResourceOptions(parent=Team(parent)) if parent else None
        for name in names:
            made.append(kind(name, ARGS[kind](name), above))

    return record(program), made


def test_public_attributes_are_annotated_outputs_and_all_are_set(kind: Component) -> None:
    recording, (instance,) = alone(kind, "one")
    public = {name for name in vars(instance) if not name.startswith("_")} - set(vars(_bare()))
    annotated = inspect.get_annotations(kind)
    assert public
    assert public == set(annotated)
    assert [name for name, of in annotated.items() if "Output[" not in str(of)] == []
    (own,) = [r.urn for r in recording.registered if (r.kind, r.name) == (token(kind), "one")]
    assert recording.completed[own], f"{kind.__name__} registers no output with a value"


def _bare() -> pulumi.ComponentResource:
    made: list[pulumi.ComponentResource] = []
    record(lambda: made.append(Team("t")))
    return made[0]


def token(kind: Component) -> str:
    return f"{PROJECT}:{kind.__module__.partition('.')[0]}:{kind.__name__}"


def test_children_hang_off_their_component_wherever_it_hangs(kind: Component) -> None:
    """`ResourceOptions(parent=self).merge(opts)` gives the children to the grandparent."""
    recording, _ = alone(kind, "one", parent="team")
    below_team = [r for r in recording.registered if r.parent.endswith("test:index:Team::team")]
    assert [(r.kind, r.name) for r in below_team] == [(token(kind), "one")]
    assert _without_component(recording) == []
    assert [r for r in recording.registered if r.parent == below_team[0].urn]


def _owner(registration: Registration) -> str:
    """The type of what it stands below."""
    return registration.parent.split("::")[2].rpartition("$")[2]


def _without_component(recording: Recording) -> list[str]:
    """What stands below no component of ours. Providers and our components may."""
    free = ("pulumi:providers:", f"{PROJECT}:", "test:")
    return [
        r.urn for r in recording.registered if not r.kind.startswith(free) and not _owner(r).startswith(f"{PROJECT}:")
    ]


def test_nothing_of_a_stack_stands_below_an_unexpected_parent(recording: Recording) -> None:
    """AWS below `infra`, Kubernetes below either, and a component only below one of its own package."""
    assert _without_component(recording) == []
    packages = {"aws": ("infra",), "eks": ("infra",), "kubernetes": ("infra", "serving"), "pulumi": ("pulumi",)}
    for registration in recording.registered:
        package, module, _ = registration.kind.split(":", 2)
        above = _owner(registration)
        if above != STACK:
            assert above.split(":")[1] in packages.get(package, (module,)), registration.urn


def test_PUL_04_two_instances_of_a_component_live_in_one_stack(kind: Component) -> None:
    """A parent's name is no part of a URN, so children carry it in theirs (pulumi#15782)."""
    one, _ = alone(kind, "one")
    both, _ = alone(kind, "one", "two")
    assert len(both.registered) == 2 * len(one.registered)
    assert {r.urn for r in one.registered} < {r.urn for r in both.registered}


def test_every_component_is_part_of_a_checked_in_stack() -> None:
    used = {r.kind for stack in STACKS for r in stack_recording(stack).registered}
    assert {token(kind) for kind in COMPONENTS} <= used
    assert len({token(kind) for kind in COMPONENTS}) == len(COMPONENTS)
