"""Previews on the real engine: what the plan holds, and what a user reads when it fails."""

import json
import sys
from pathlib import Path

import pytest

from rehearsal.engine.program import Program
from rehearsal.engine.run import RunFailedError
from rehearsal.engine.stackfile import UnreadableStackError, rehearsable
from rehearsal.plan.plan import HIDDEN, UNKNOWN
from rehearsal.preview import preview
from tests.rehearsal.conftest import PROGRAM

ONE_BUCKET = """
import pulumi, pulumi_aws as aws
aws.s3.Bucket("b", opts=pulumi.ResourceOptions(provider=aws.Provider("p", region="eu-west-1")))
"""


def failure_of(place):
    with pytest.raises(RunFailedError) as caught:
        preview("dev", project=place)
    return str(caught.value)


def test_two_provider_instances_keep_region_and_tags_apart(tiny):
    weights, copy = tiny.one("aws:s3/bucket:Bucket", "Weights"), tiny.one("aws:s3/bucket:Bucket", "copy")
    assert (weights.inputs["region"], weights.inputs["tagsAll"]) == ("eu-west-1", {"team": "ml", "stack": "dev"})
    assert (copy.inputs["region"], copy.inputs["tagsAll"]) == ("us-east-1", {"team": "other"})


def test_outputs_are_known_unknown_or_hidden(tiny):
    assert tiny.outputs == {"region": "eu-west-1", "vpc": UNKNOWN, "securityGroup": UNKNOWN, "token": HIDDEN}


def test_the_plan_tells_dependencies(tiny):
    vpc = tiny.one("aws:ec2/vpc:Vpc")
    assert tiny.one("aws:ec2/subnet:Subnet", "net-0").property_dependencies["vpcId"] == (vpc.urn,)


def test_json_goes_to_standard_output_and_nothing_else(run, project):
    place = project(ONE_BUCKET + "pulumi.export('token', pulumi.Output.secret('hunter2'))\n")
    done = run("preview", "--stack", "dev", "--project", str(place), "--json", "-")
    plan = json.loads(done.stdout)
    assert done.returncode == 0
    assert done.stderr == ""
    assert [it["name"] for it in plan["resources"] if it["type"] == "aws:s3/bucket:Bucket"] == ["b"]
    assert plan["outputs"] == {"token": "[secret]"}
    assert "hunter2" not in done.stdout


def test_a_missing_stack_file_is_one_line_that_lists_the_stacks(run):
    done = run("preview", "--stack", "nope", "--project", str(PROGRAM))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "Pulumi.nope.yaml does not exist; stacks here: dev\n"


def test_a_mistyped_option_is_a_usage_error(run):
    done = run("preview", "--stack", "dev", "--secret", "no-equals-sign")
    assert done.returncode == 2
    assert done.stderr.endswith("error: argument --secret: expected PATH=VALUE\n")


def test_a_run_error_reaches_the_user_word_for_word(run, project):
    place = project('import pulumi\nraise pulumi.RunError("a: 1 is wrong\\nb: 2 is wrong")\n')
    done = run("preview", "--stack", "dev", "--project", str(place))
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "a: 1 is wrong\nb: 2 is wrong\n")


def test_a_crash_shows_its_traceback_and_is_called_a_bug(run, project):
    place = project("def f():\n    return 1 / 0\n\n\nf()\n")
    done = run("preview", "--stack", "dev", "--project", str(place))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("Traceback (most recent call last):\n")
    assert f'File "{place}/__main__.py", line 2, in f' in done.stderr
    assert "runpy" not in done.stderr
    assert done.stderr.endswith(
        "ZeroDivisionError: division by zero\n\nThis is a bug in the program, not in the stack file.\n"
    )


def test_a_crash_inside_apply_is_called_a_bug_too(project):
    place = project("import pulumi\npulumi.export('x', pulumi.Output.from_input(0).apply(lambda n: 1 / n))\n")
    assert "ZeroDivisionError: division by zero" in failure_of(place)
    assert failure_of(place).endswith("\nThis is a bug in the program, not in the stack file.")


def test_a_syntax_error_is_shown_without_the_machinery(project):
    place = project("import pulumi\nif True\n    pass\n")
    text = failure_of(place)
    assert text.startswith(f'  File "{place}/__main__.py", line 2\n')
    assert "SyntaxError: expected ':'" in text
    assert "runpy" not in text


def test_only_the_programs_own_frames_make_an_error_its_bug():
    """The virtual environment lies inside the project's folder, and its frames are in every SDK error."""
    program = Program(project=Path(sys.prefix).parent)
    sdk = f'Traceback:\n  File "{sys.prefix}/lib/pulumi/output.py", line 1, in f\n'
    assert not program.is_own(sdk)
    assert program.is_own(f'{sdk}  File "{program.project}/infra/network.py", line 9, in g\n')


def test_an_output_in_a_string_is_an_error(project):
    place = project("import pulumi\nprint(f'{pulumi.Output.from_input(1)}')\n")
    assert "Calling __str__ on an Output[T] is not supported" in failure_of(place)


def test_an_unknown_resource_type_is_one_line(project):
    place = project(ONE_BUCKET.replace('s3.Bucket("b"', 'sns.Topic("t"'))
    assert failure_of(place) == (
        "urn:pulumi:dev::own::aws:sns/topic:Topic::t: "
        "the offline aws provider does not know the resource type `aws:sns/topic:Topic`: add it to KINDS of its "
        "subject in rehearsal/providers/aws/ and its rule to change/rows/"
    )


def test_an_unknown_kind_is_refused_even_when_the_engine_asks_no_provider(project):
    place = project(
        "import pulumi, pulumi_kubernetes as k8s, pulumi_aws as aws\n"
        "p = aws.Provider('p', region='eu-west-1')\n"
        "v = aws.ec2.Vpc('v', opts=pulumi.ResourceOptions(provider=p))\n"
        "api = k8s.Provider('api', kubeconfig=v.arn)\n"
        "k8s.coordination.v1.Lease('h', opts=pulumi.ResourceOptions(provider=api))"
    )
    assert failure_of(place) == (
        "urn:pulumi:dev::own::kubernetes:coordination.k8s.io/v1:Lease::h: the offline kubernetes provider "
        "does not know the kind `kubernetes:coordination.k8s.io/v1:Lease`: "
        "add it to OBJECTS in rehearsal/providers/kubernetes/objects.py"
    )


def test_a_forgotten_provider_fails_in_one_line(project):
    place = project(
        "import pulumi_aws as aws\naws.s3.Bucket('b')\n",
        "config:\n  aws:region: eu-west-1\n  pulumi:disable-default-providers: [aws]\n",
    )
    assert failure_of(place) == (
        "Default provider for 'aws' disabled. 'urn:pulumi:dev::own::aws:s3/bucket:Bucket::b' "
        "must use an explicit provider."
    )


def test_a_warning_of_the_program_is_in_the_report(run, project):
    place = project("import pulumi\npulumi.log.warn('memory is tight')\n")
    done = run("preview", "--stack", "dev", "--project", str(place))
    assert (done.returncode, done.stderr) == (0, "")
    assert "\nwarning: memory is tight\n" in done.stdout


def test_a_secret_reaches_the_program_and_is_never_printed(run, project):
    place = project(
        "import pulumi\ntoken = pulumi.Config().require_secret('token')\n"
        "pulumi.export('token', token)\n"
        "pulumi.export('length', pulumi.Output.unsecret(token.apply(len)))\n",
    )
    done = run("preview", "--stack", "dev", "--project", str(place), "--secret", "own:token=hunter2")
    assert (done.returncode, done.stderr) == (0, "")
    assert "  length: 7\n  token: [secret]\n" in done.stdout
    assert "hunter2" not in done.stdout


def test_an_encrypted_value_needs_a_secret_in_its_place(run, project):
    stack = "encryptionsalt: v1:abc=:v1:def:ghi\nconfig:\n  own:token:\n    secure: v1:abcdef\n"
    place = project("import pulumi\npulumi.export('n', pulumi.Config().require_secret('token').apply(len))\n", stack)
    done = run("preview", "--stack", "dev", "--project", str(place))
    assert (done.returncode, done.stderr) == (
        1,
        "Pulumi.dev.yaml: own:token is encrypted and a rehearsal cannot read it: pass --secret own:token=VALUE\n",
    )
    done = run("preview", "--stack", "dev", "--project", str(place), "--secret", "own:token=hunter2")
    assert (done.returncode, done.stderr) == (0, "")
    assert (place / "Pulumi.dev.yaml").read_text() == stack


def test_an_encrypted_value_deep_in_the_settings_is_refused_by_its_path(run, project):
    place = project("import pulumi\n", "config:\n  own:settings:\n    servers:\n      chat: {token: {secure: v1:x}}\n")
    done = run("preview", "--stack", "dev", "--project", str(place))
    assert (done.returncode, done.stderr) == (
        1,
        "Pulumi.dev.yaml: own:settings.servers.chat.token is encrypted inside another value, which ends up in plain "
        "manifests: give it a configuration key of its own\n",
    )


def test_a_copy_without_secrets_changes_no_other_value():
    """Loaded and dumped again `no` would be false and 12:30:45 a number."""
    before = (
        "encryptionsalt: v1:abc=:v1:def:ghi\n"
        "config:\n"
        "  own:a: no\n"
        "  own:token:\n"
        "    secure: v1:abcdef\n"
        "  own:b: 12:30:45 # noon\n"
        "  own:other: {secure: v1:x}\n"
        "  own:last: [1, 2]"
    )
    after = "config:\n  own:a: no\n  own:b: 12:30:45 # noon\n  own:last: [1, 2]"
    assert rehearsable("f", before.encode(), ["own:token", "own:other"]).decode() == after
    assert rehearsable("f", after.encode(), []).decode() == after


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("config:\n  own:a: {x: 1, x: 2}\n", "f: config.own:a.x stands there twice"),
        ("config:\n  own:a: [.inf]\n", "f: config.own:a[0]: .inf is not a finite number"),
        ("config: &a {x: *a}\n", "f: config.x contains itself"),
        ("[1, 2]\n", "f: not a mapping; expected the key config"),
        ("", "f: not a mapping; expected the key config"),
        ("config:\n  own:a:\n    - secure: v1:x\n", None),
        ("config:\n  own:a: " + "[" * 3000 + "]" * 3000, "f is not YAML: maximum recursion depth exceeded"),
    ],
)
def test_a_stack_file_that_no_engine_should_see_is_refused_in_one_line(text, line):
    line = line or (
        "f: own:a[0] is encrypted inside another value, which ends up in plain manifests:"
        " give it a configuration key of its own"
    )
    with pytest.raises(UnreadableStackError) as refused:
        rehearsable("f", text.encode(), [])
    assert str(refused.value).startswith(line)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("stack", "code", "message"),
    [
        (
            "config: [unclosed\n",
            1,
            'Pulumi.dev.yaml is not YAML: while parsing a flow sequence in "<byte string>", line 1, column 9: '
            "config: [unclosed ^ expected ',' or ']', but got '<stream end>' in \"<byte string>\", line 2, column 1: ^",
        ),
        (
            "config: 3\n",
            1,
            "could not read stack configuration for new stack: invalid YAML file: could not unmarshal map: yaml: "
            "unmarshal errors:\n  line 1: cannot unmarshal !!int `3` into map[string]config.Value",
        ),
    ],
)
def test_a_stack_file_that_pulumi_cannot_read_is_no_traceback(run, project, stack, code, message):
    done = run("preview", "--stack", "dev", "--project", str(project("import pulumi\n", stack)))
    assert (done.returncode, done.stdout, done.stderr) == (code, "", f"{message}\n")


def test_a_folder_that_is_no_project_is_one_line(run, tmp_path):
    done = run("preview", "--stack", "dev", "--project", str(tmp_path))
    assert (done.returncode, done.stderr) == (
        2,
        f"{tmp_path} has no Pulumi.yaml: run in the project's folder, or name it with --project\n",
    )
