"""Jobs from the templates that the program itself makes, before a real API server."""

import yaml

from tests.harness import record_program
from tests.rehearsal.node_supply.test_pools_admitted import whole

CRON_JOB = "kubernetes:batch/v1:CronJob"


def applied(players, folder, name):
    """Put the program's own CronJob into the cluster, made of the stack file that `ops` reads."""
    raw = yaml.safe_load((folder / "Pulumi.dev.yaml").read_text())["config"]["vllm-eks:settings"]
    (made,) = [it.inputs for it in record_program(raw).all(CRON_JOB) if it.inputs["metadata"]["name"] == name]
    body = whole(made)
    return players.create(
        f"/apis/batch/v1/namespaces/{players.namespace}/cronjobs",
        "batch/v1",
        "CronJob",
        name,
        {"spec": body["spec"]},
        annotations=body["metadata"].get("annotations"),
    )


def test_a_build_is_the_programs_template_and_nothing_else(ops, players, folder):
    template = applied(players, folder, "gemma-cache-build")
    code, _, _ = ops("cache", "build", "--server", "gemma", "--yes", "--kubeconfig", players.kubeconfig, "--no-wait")
    assert code == 0
    (built,) = players.job()["spec"]["template"]["spec"]["containers"]
    (wanted,) = template["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"]
    assert built == wanted


def test_an_onboarding_adds_arguments_to_the_programs_template_and_nothing_else(ops, players, folder):
    template = applied(players, folder, "weights-onboard")
    commit = "0123456789abcdef0123456789abcdef01234567"
    asked = ("--server", "gemma", "--repository", "acme/gemma", "--revision", commit)
    code, _, _ = ops("weights", "onboard", *asked, "--yes", "--kubeconfig", players.kubeconfig, "--no-wait")
    assert code == 0
    (made,) = players.job()["spec"]["template"]["spec"]["containers"]
    (wanted,) = template["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"]
    arguments = made.pop("args")
    assert made == wanted
    uri = "s3://vllm-eks-dev-models-000000000000/models/gemma-4-31b-it-nvfp4/r1/"
    assert arguments == ["--repository=acme/gemma", f"--revision={commit}", f"--to={uri}"]


def test_a_check_of_weights_runs_the_other_program_of_the_same_template(ops, players, folder):
    applied(players, folder, "weights-onboard")
    said = "verify: whole: 12 files, 1 bytes (sizes and layout checked), o/n at c"
    with players.playing(lambda: players.end(players.job(), code=0, message=said)):
        code, out, _ = ops("weights", "verify", "--server", "gemma", "--yes", "--kubeconfig", players.kubeconfig)
    assert (code, out) == (0, f"{said}\n")
    (made,) = players.job()["spec"]["template"]["spec"]["containers"]
    assert made["command"][-1] == "/scripts/verify.py"
