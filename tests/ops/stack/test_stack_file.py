"""The stack file as Pulumi reads it, from here or from git."""

import subprocess

import pytest

from ops.failures import RefusedError, UnclearError, UsageError
from ops.stack.stack_file import at_revision, read
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
        ("config: [", "Pulumi.dev.yaml: not YAML: while parsing a flow node"),
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
    assert str(mistake.value) == "--stack dev: Pulumi.dev.yaml is not here; expected a folder with stack files"


def test_a_stack_file_that_nobody_can_read_is_a_mistake_of_the_caller(folder):
    (folder / "Pulumi.gone.yaml").symlink_to("nowhere")
    (folder / "Pulumi.dir.yaml").mkdir()
    for name, said in {
        "gone": "--stack gone: Pulumi.gone.yaml is a link to nothing; expected dev, dir, prod, staging",
        "dir": "--stack dir: Is a directory",
        "x" * 5000: f"--stack {'x' * 80}...: File name too long",
        "a\nb": "--stack a\\nb: Pulumi.a\\nb.yaml is not here; expected dev, dir, gone, prod, staging",
    }.items():
        with pytest.raises(UsageError) as mistake:
            read(name)
        assert str(mistake.value) == said


def test_keys_without_a_namespace_are_the_projects(folder):
    """So Pulumi reads them."""
    path = folder / "Pulumi.dev.yaml"
    path.write_text(path.read_text().replace("vllm-eks:settings:", "settings:"))
    assert read("dev").settings.name == "inference-dev"


def test_a_revision_shows_the_file_as_it_was(repository, edit):
    edit(lambda settings: settings.update(namespace="elsewhere"))
    assert read("dev").settings.namespace == "elsewhere"
    assert at_revision("dev", "HEAD").settings.namespace == "inference"


def test_a_revision_that_is_none_is_a_mistake_of_the_caller(repository):
    with pytest.raises(UsageError) as mistake:
        at_revision("dev", "nope")
    assert str(mistake.value) == "--diff nope: not a revision that git knows"


@pytest.mark.parametrize("range_", ["HEAD~1..HEAD", "HEAD..HEAD~1", "^HEAD", "HEAD:Pulumi.dev.yaml"])
def test_a_revision_is_one_commit(repository, range_):
    """Of `^HEAD` git would show nothing, and call it a success."""
    git("commit", "-qm", "second", "--allow-empty")
    with pytest.raises(UsageError) as mistake:
        at_revision("dev", range_)
    assert str(mistake.value) == f"--diff {range_}: not a revision that git knows"


def test_a_branch_that_is_only_at_the_remote_is_named(repository):
    git("update-ref", "refs/remotes/origin/release", "HEAD")
    with pytest.raises(UsageError) as mistake:
        at_revision("dev", "release")
    assert str(mistake.value) == "--diff release: not a revision that git knows; origin/release is one"


@pytest.mark.parametrize(
    ("revision", "echoed"), [("a\nb", "a\\nb"), ("x" * 5000, f"{'x' * 80}..."), ("--output=x", "--output=x")]
)
def test_a_revision_is_told_in_one_line(repository, revision, echoed):
    with pytest.raises(UsageError) as mistake:
        at_revision("dev", revision)
    assert str(mistake.value) == f"--diff {echoed}: not a revision that git knows"
    assert not list(repository.glob("x*"))  # it is never an option of git's


def test_outside_of_a_repository_git_has_the_word(folder):
    with pytest.raises(UsageError) as mistake:
        at_revision("dev", "HEAD")
    assert str(mistake.value) == "--diff HEAD: not a git repository (or any of the parent directories): .git"


def test_a_revision_without_the_stack_is_told_by_git(repository):
    git("rm", "-q", "--cached", "Pulumi.dev.yaml")
    git("commit", "-qm", "second")
    with pytest.raises(
        UsageError, match=r"^--diff HEAD: path 'Pulumi\.dev\.yaml' exists on disk, but not in '[0-9a-f]{40}'$"
    ):
        at_revision("dev", "HEAD")


def test_a_wrong_file_of_a_revision_says_which(repository):
    path = repository / "Pulumi.dev.yaml"
    path.write_text("config: {}\n")
    git("commit", "-qam", "second")
    with pytest.raises(UnclearError) as unclear:
        at_revision("dev", "HEAD")
    assert str(unclear.value) == (
        "cannot compare: Pulumi.dev.yaml at HEAD is not one that this checkout reads: vllm-eks:settings: missing; copy"
        " it from Pulumi.dev.yaml into this stack's file"
    )


def test_a_file_from_before_a_key_was_required_cannot_be_compared(repository, edit, ops):
    """It was right for its time: nothing failed, and nothing can be told."""
    edit(lambda settings: [settings.pop(key) for key in ("namespace", "karpenter", "tags")])
    git("commit", "-qam", "second")
    git("checkout", "-q", "HEAD~1", "--", "Pulumi.dev.yaml")
    assert ops("cache", "key", "--server", "gemma", "--diff", "HEAD") == (
        3,
        "",
        "cannot compare: Pulumi.dev.yaml at HEAD is not one that this checkout reads: tags: missing; expected a mapping"
        " of tag keys to text (numbers in quotes) and 2 more\n",
    )


def test_without_git_nothing_can_be_told(folder, monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(UnclearError) as unclear:
        at_revision("dev", "HEAD")
    assert str(unclear.value) == "--diff: git is not on PATH"
