"""A registry's token on the real engine: encrypted in the state, hidden in the plan, whole in the offline cloud."""

from __future__ import annotations

import json
from pathlib import Path

from rehearsal.providers.store import FileStore
from tests.rehearsal.conftest import ROOT

TOKEN = "dckr_pat_EXAMPLE"  # noqa: S105 - a made-up one
KEY = "vllm-eks:dockerHubCredentials"
PROGRAM = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
import pulumi, pulumi_aws
from infra.image_cache.credentials import credentials
from infra.image_cache.image_cache import ImageCache, ImageCacheArgs
from infra.image_cache.settings import ImageCacheSettings

settings = ImageCacheSettings.model_validate({{
    "prefix": "a-stack", "upstreams": ["docker-hub"], "untaggedDays": 14, "keepTags": 20, "repositories": {{}}
}})
secrets, complaints = credentials(settings, pulumi.Config("vllm-eks"))
if complaints:
    raise pulumi.RunError("\\n".join(map(str, complaints)))
aws = pulumi_aws.Provider("aws", region="us-west-2", allowed_account_ids=["000000000000"])
args = ImageCacheArgs(settings=settings, credentials=secrets)
cache = ImageCache("images", args, pulumi.ResourceOptions(provider=aws))
pulumi.export("prefixes", cache.prefixes)
"""


def given(token: str) -> tuple[str, str]:
    return "--secret", f"{KEY}={json.dumps({'username': 'somebody', 'accessToken': token})}"


def test_PUL_02_a_token_is_in_no_state_and_in_no_plan_as_plain_text(run, project, tmp_path):
    place, state = project(PROGRAM), tmp_path / "state"
    asked = ("--stack", "dev", "--project", str(place), "--state", str(state))
    done = run("up", *asked, *given(TOKEN))
    assert (done.returncode, done.stderr) == (0, "")
    assert "registry-1.docker.io at a-stack/docker-hub/" in done.stdout
    assert "signed in" in done.stdout
    again = run("preview", *asked, *given(TOKEN))
    assert (again.returncode, again.stderr) == (0, "")
    assert "5 unchanged; previewed in" in again.stdout
    other = run("preview", *asked, *given(f"{TOKEN}_2"))
    assert "SecretVersion" in other.stdout
    for said in (done, again, other):
        assert TOKEN not in said.stdout

    states = [path for path in state.rglob("*") if path.is_file() and path.name != "cloud.sqlite"]
    assert [path for path in states if "stacks" in path.parts], "no state found: nothing was proved"
    assert [path for path in states if TOKEN.encode() in path.read_bytes()] == []

    with FileStore.opened(state / "cloud.sqlite") as store:
        kinds = {kind: outputs for (kind, _), outputs in store.everything().items()}
    assert TOKEN in json.dumps(kinds["aws:secretsmanager/secretVersion:SecretVersion"])
    rule = kinds["aws:ecr/pullThroughCacheRule:PullThroughCacheRule"]
    assert rule["credentialArn"] == kinds["aws:secretsmanager/secret:Secret"]["arn"]
    assert rule["credentialArn"].startswith(
        "arn:aws:secretsmanager:us-west-2:000000000000:secret:ecr-pullthroughcache/a-stack/docker-hub-"
    )


def test_ECR_01_a_rule_whose_secret_is_missing_is_refused_before_any_resource(run, project):
    done = run("preview", "--stack", "dev", "--project", str(project(PROGRAM)))
    assert done.returncode == 1
    assert "imageCache.upstreams: docker-hub needs the secret vllm-eks:dockerHubCredentials;" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_changed_lifecycle_of_an_own_repository_survives_its_replacement(run, project, tmp_path):
    text = PROGRAM.replace('["docker-hub"]', "[]")
    text = text.replace('"repositories": {}', '"repositories": {"engine": {"keepOnDestroy": False}}')
    place, state = project(text), tmp_path / "state"
    asked = ("--stack", "dev", "--project", str(place), "--state", str(state))
    assert run("up", *asked).returncode == 0
    main = Path(place) / "__main__.py"
    main.write_text(text.replace('"untaggedDays": 14', '"untaggedDays": 7'))
    assert run("up", *asked).returncode == 0
    with FileStore.opened(state / "cloud.sqlite") as store:
        kept = {kind: outputs for (kind, _), outputs in store.everything().items()}
    (rule,) = json.loads(kept["aws:ecr/lifecyclePolicy:LifecyclePolicy"]["policy"])["rules"]
    assert rule["selection"]["countNumber"] == 7
