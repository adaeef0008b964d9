"""The stack file as Pulumi reads it, from here or from git."""

import subprocess

import pytest

from ops.failures import RefusedError, UnclearError, UsageError
from ops.stack_file import at_revision, read
from tests.harness import STACKS, stack_settings


def git(*arguments):
    identity = ["-c", "user.name=x", "-c", "user.email=x@example.com", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *identity, *arguments], check=True, capture_output=True)


@pytest.fixture
def repository(folder):
    """The current folder as a git repository of one commit."""
    git("init", "-q")
    git("add", "-A")
    git("commit", "-qm", "first")
    return folder


@pytest.mark.parametrize("stack", STACKS)
def test_the_checked_in_files_are_read_as_the_program_reads_them(folder, stack):
    found = read(stack)
    assert (found.name, found.region) == (stack, "us-west-2")
    assert found.settings.name == stack_settings(stack)["name"]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("no", "no"),
        ("on", "on"),
        ("12:30", "12:30"),
        ("2026-11-30", "2026-11-30"),
        ("1e3", 1000.0),
        ("true", True),
        ("~", None),
        ("0x10", 16),
        ("010", 8),
        ("08", 8.0),
        ("1_000", 1000),
        ('"1"', "1"),
    ],
)
def test_scalars_are_what_go_makes_of_them(folder, written, meant):
    """PyYAML takes `no` for false and 12:30 for 750: another value, so another cache key than the program's."""
    path = folder / "Pulumi.dev.yaml"
    path.write_text(path.read_text().replace("args: {}", f"args: {{hf-overrides: {{x: {written}}}}}"))
    value = read("dev").settings.servers["gemma"].engine.args["hf-overrides"]["x"]
    assert (value, type(value)) == (meant, type(meant))


def test_settings_written_as_one_text_are_read_too(folder):
    """`pulumi config set vllm-eks:settings '{...}'` writes them so."""
    import json

    import yaml

    path = folder / "Pulumi.dev.yaml"
    whole = yaml.safe_load(path.read_text())
    whole["config"]["vllm-eks:settings"] = json.dumps(whole["config"]["vllm-eks:settings"])
    path.write_text(yaml.safe_dump(whole))
    assert read("dev").settings.name == "inference-dev"


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("config: [", "Pulumi.dev.yaml is not YAML: while parsing a flow node"),
        ("[]", "Pulumi.dev.yaml: no mapping `config`"),
        (
            "config: {}",
            "Pulumi.dev.yaml: vllm-eks:settings: missing; copy it from Pulumi.dev.yaml into this stack's file",
        ),
    ],
    ids=["no yaml", "a list", "no settings"],
)
def test_what_is_no_stack_file_is_refused_in_one_line(folder, content, line):
    (folder / "Pulumi.dev.yaml").write_text(content)
    with pytest.raises(RefusedError) as refused:
        read("dev")
    assert str(refused.value).startswith(line)
    assert "\n" not in str(refused.value)


def test_a_folder_without_stack_files_is_named(folder, tmp_path_factory, monkeypatch):
    monkeypatch.chdir(tmp_path_factory.mktemp("empty"))
    with pytest.raises(UsageError) as mistake:
        read("dev")
    assert str(mistake.value) == "--stack dev: no Pulumi.dev.yaml here; expected a folder with stack files"


def test_a_revision_shows_the_file_as_it_was(repository, edit):
    edit(lambda settings: settings.update(namespace="elsewhere"))
    assert read("dev").settings.namespace == "elsewhere"
    assert at_revision("dev", "HEAD").settings.namespace == "inference"


def test_a_revision_that_is_none_is_a_mistake_of_the_caller(repository):
    with pytest.raises(UsageError) as mistake:
        at_revision("dev", "nope")
    assert str(mistake.value) == "--diff nope: invalid object name 'nope'."


def test_a_revision_is_never_an_option_of_git(repository):
    with pytest.raises(UsageError, match=r"^--diff --output=x: "):
        at_revision("dev", "--output=x")
    assert not list(repository.glob("x*"))


def test_a_wrong_file_of_a_revision_says_which(repository):
    path = repository / "Pulumi.dev.yaml"
    path.write_text("config: {}\n")
    git("commit", "-qam", "second")
    with pytest.raises(RefusedError, match=r"^Pulumi\.dev\.yaml at HEAD: vllm-eks:settings: missing"):
        at_revision("dev", "HEAD")


def test_without_git_nothing_can_be_told(folder, monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(UnclearError) as unclear:
        at_revision("dev", "HEAD")
    assert str(unclear.value) == "--diff: git is not on PATH"
