"""TST-01: a test of this suite cannot pass without having looked at something."""

import ast
import builtins
import gc
import tomllib
from collections.abc import Iterator

import pulumi
import pulumi_aws
import pytest
from pulumi_aws import s3

from tests.harness import ROOT, Recording, record


def test_TST_01_an_invoke_that_nobody_mocked_fails() -> None:
    """An answer of {} would let a program run on with ARNs that say undefined."""
    with pytest.raises(Exception, match="unmocked invoke: aws:index/getPartition:getPartition"):
        record(pulumi_aws.get_partition)


@pytest.mark.parametrize("given", [True, False], ids=["given", "absent"])
def test_TST_01_an_exception_inside_apply_fails_the_recording(given: bool) -> None:
    def refuse(value: object) -> None:
        raise ValueError(value)

    def program() -> None:
        bucket = s3.Bucket("b", bucket="a-name")
        (bucket.bucket if given else bucket.hosted_zone_id).apply(refuse)

    with pytest.raises(ValueError, match="a-name" if given else "None"):
        record(program)


def test_TST_01_a_program_that_registers_nothing_fails() -> None:
    with pytest.raises(AssertionError, match="the program registered nothing"):
        record(lambda: pulumi.Output.from_input(1))


def test_TST_01_a_kind_that_is_nowhere_fails_instead_of_giving_an_empty_loop(dev: Recording) -> None:
    """A misspelt token never finds anything (grapl's rule for `rolepolicy`)."""
    with pytest.raises(AssertionError, match="none of aws:iam/rolepolicy:RolePolicy"):
        dev.all("aws:iam/rolepolicy:RolePolicy")


def test_PUL_04_a_second_resource_of_the_same_urn_fails() -> None:
    """Mocks overwrite the first one; the engine refuses."""

    def program() -> None:
        for _ in range(2):
            s3.Bucket("b")

    with pytest.raises(Exception, match=r"duplicate URN: urn:pulumi:test::vllm-eks::aws:s3/bucket:Bucket::b$"):
        record(program)


PYTEST = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
TEST_PATHS = [path.removeprefix("tests/") for path in PYTEST["testpaths"]]

RAISES_BY_ITSELF = {"refuse_unmodelled", "wait_for"}
"""Functions of ours whose whole work is to raise: that a call returns is what its test claims."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions(trees: list[ast.Module]) -> Iterator[Function]:
    for tree in trees:
        yield from (node for node in ast.walk(tree) if isinstance(node, Function))


def called(node: ast.AST) -> set[str]:
    """The functions that are called by their bare names below a node, and `raises`."""
    targets = [inner.func for inner in ast.walk(node) if isinstance(inner, ast.Call)]
    return {target.id for target in targets if isinstance(target, ast.Name)} | {
        target.attr for target in targets if isinstance(target, ast.Attribute) and target.attr in {"raises", "fail"}
    }


def asserts(node: ast.AST) -> bool:
    return any(isinstance(inner, ast.Assert) for inner in ast.walk(node))


def shared(trees: list[ast.Module]) -> set[str]:
    """Top-level functions of the suite that are no tests: helpers and fixtures. What is inside them has other names."""
    found = [node for tree in trees for node in tree.body if isinstance(node, Function)]
    proving = {"raises", "fail", *RAISES_BY_ITSELF}
    while more := {f.name for f in found if f.name not in proving and (asserts(f) or called(f) & proving)}:
        proving |= more
    return {name for name in proving if not name.startswith("test_")} - set(dir(builtins))


def silent(trees: list[ast.Module]) -> list[str]:
    """Tests that assert nothing, expect no exception, and call no helper of the suite that does."""
    proving = shared(trees)
    tests = [f for f in functions(trees) if f.name.startswith("test_")]
    return [f.name for f in tests if not asserts(f) and not called(f) & proving]


def hidden(trees: list[ast.Module]) -> list[str]:
    """Functions with assertions that are handed to `apply`, where an unknown value never brings them."""
    handed = {
        argument.id
        for tree in trees
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "apply"
        for argument in call.args
        if isinstance(argument, ast.Name)
    }
    return [f.name for f in functions(trees) if f.name in handed and asserts(f)]


def suite() -> list[ast.Module]:
    # a collection inside ast.parse that runs code (a dropped future says so) ends in a SystemError (python#106905)
    gc.disable()
    try:
        return [ast.parse(path.read_text()) for path in sorted((ROOT / "tests").rglob("*.py"))]
    finally:
        gc.enable()


def test_TST_01_every_test_asserts_something() -> None:
    assert silent(suite()) == []
    sample = ast.parse("def test_a():\n    f()\ndef f():\n    pass\ndef test_b():\n    g()\ndef g():\n    assert x\n")
    assert silent([sample]) == ["test_a"]


def test_TST_01_no_assertion_stands_inside_apply() -> None:
    assert hidden(suite()) == []
    sample = ast.parse("def test_a():\n    def look(v):\n        assert v\n    output.apply(look)\n")
    assert hidden([sample]) == ["look"]


def test_every_module_with_tests_is_collected() -> None:
    """A file without the prefix is never run (four of mitodl's)."""
    paths = (ROOT / "tests").rglob("*.py")
    holding = [path.relative_to(ROOT / "tests") for path in paths if "\ndef test_" in path.read_text()]
    assert len(holding) > 20
    wrong = [path for path in holding if not path.name.startswith("test_") or path.parts[0] not in TEST_PATHS]
    assert wrong == []
