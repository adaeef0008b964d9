import pytest

from tests.policies.conftest import UNKNOWN, found, resource, unchecked
from tests.policies.start_up.shapes import JOB, STATEFUL_SET, container, deployment, env, pod, pool, workload

L4 = pool("l4", types=("g6.2xlarge",))
BOTH = pool("both", types=("g6.2xlarge", "g6e.2xlarge"))
CLAIM = {"name": "cache", "persistentVolumeClaim": {"claimName": "cache"}}
SPEC = "spec.template.spec"


def caching(pool="l40s", root="/cache", volume=CLAIM, mount=None, **given):
    mounts = [{"name": "cache", "mountPath": "/cache", **(mount or {})}]
    server = container(volumeMounts=mounts, env=env(VLLM_CACHE_ROOT=root))
    return pod(server, pool=pool, volumes=[volume], **given)


def shared(place):
    return (
        f"its start-up cache ({place}) is that of b too, on another GPU: l40s here, l4 there;"
        " give each product a folder of its own"
    )


def of(one, other, *pools):
    """What is said of the first of two servers."""
    said = found("cache-per-gpu", deployment(one, "a"), deployment(other, "b"), *(pools or (pool(), L4)))
    return [it for it in said if "of b too" in it]


def test_two_products_do_not_share_a_cache():
    assert of(caching(), caching("l4")) == [shared("claim team/cache")]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({}, {}),
        ({"root": "/cache/l40s"}, {"pool": "l4", "root": "/cache/l4"}),
        ({"mount": {"subPath": "l40s"}}, {"pool": "l4", "mount": {"subPath": "l4"}}),
        ({}, {"pool": "l4", "volume": {**CLAIM, "persistentVolumeClaim": {"claimName": "l4"}}}),
        ({}, {"pool": "l4", "volume": {"name": "cache", "hostPath": {"path": "/mnt"}}}),
        # what only the start decides
        ({"root": "/cache/$(GPU)"}, {"pool": "l4"}),
        ({"mount": {"subPathExpr": "$(GPU)"}}, {"pool": "l4"}),
        # nobody knows where it runs
        ({}, {"pool": "elsewhere"}),
    ],
)
def test_a_folder_for_each_product_passes(one, other):
    assert of(caching(**one), caching(**other)) == []


@pytest.mark.parametrize(
    ("one", "other", "place"),
    [
        ({"root": "/cache/a"}, {"root": "/cache"}, "claim team/cache"),
        ({"mount": {"subPath": "a"}}, {"root": "/cache/a"}, "claim team/cache, a"),
        ({"mount": {"subPath": "a/"}, "root": "/cache/b"}, {"root": "/cache//a/b/"}, "claim team/cache, a/b"),
    ],
)
def test_folders_are_compared_wherever_they_are_mounted(one, other, place):
    assert of(caching(**one), caching("l4", **other)) == [shared(place)]


def test_a_server_of_files_is_shared_too():
    nfs = {"name": "cache", "nfs": {"server": "fs", "path": "/x"}}
    assert of(caching(volume=nfs), caching("l4", volume=nfs)) == [shared("nfs fs:/x")]


def test_a_claim_below_home_holds_what_no_variable_moves():
    home = pod(container(volumeMounts=[{"name": "cache", "mountPath": "/root/.cache"}]), volumes=[CLAIM])
    weights = pod(container(volumeMounts=[{"name": "cache", "mountPath": "/root/.cache/huggingface"}]), volumes=[CLAIM])
    other = caching("l4", root="/cache/vllm")
    assert of(home, other) == [shared("claim team/cache, vllm")]
    assert of(weights, other) == []


def test_claims_of_other_namespaces_are_others():
    servers = [deployment(caching(), "a"), deployment(caching("l4"), "b", namespace="other"), pool(), L4]
    assert found("cache-per-gpu", *servers) == []


def test_one_pod_on_two_products_shares_with_itself():
    said = (
        "its start-up cache (claim team/cache) serves l4 and l40s;"
        " bind the pod to one product, or give each a folder of its own"
    )
    assert found("cache-per-gpu", deployment(caching("both")), BOTH) == [said]
    bound = {"nodeSelector": {"team/pool": "both", "karpenter.k8s.aws/instance-gpu-name": "l4"}}
    assert found("cache-per-gpu", deployment(caching("both", **bound)), BOTH) == []
    claims = [{"metadata": {"name": "cache"}}]
    template = caching("both", volume={"name": "other", "emptyDir": {}})
    assert found("cache-per-gpu", workload(STATEFUL_SET, template, volumeClaimTemplates=claims), BOTH) == [
        said.replace("claim team/cache", "claims team/cache of it")
    ]


def test_a_product_that_nobody_knows_is_told_by_its_pool():
    new = pool("new", types=("g99.xlarge",))
    assert found("cache-per-gpu", deployment(caching("new"), "a"), deployment(caching(), "b"), new, pool()) == [
        "its start-up cache (claim team/cache) is that of b too, on another GPU: those of NodePool new here,"
        " l40s there; give each product a folder of its own",
        "its start-up cache (claim team/cache) is that of a too, on another GPU: l40s here,"
        " those of NodePool new there; give each product a folder of its own",
    ]


def test_a_cache_that_cannot_be_read_hides_no_other():
    strange = deployment(caching(root=UNKNOWN), "strange")
    stack = [strange, deployment(caching(), "a"), deployment(caching("l4"), "b"), pool(), L4]
    assert unchecked("cache-per-gpu", *stack) == [f"{SPEC}.containers[0].env[0].value"]
    assert shared("claim team/cache") in found("cache-per-gpu", *stack)
    claim = {"name": "cache", "persistentVolumeClaim": {"claimName": UNKNOWN}}
    assert unchecked("cache-per-gpu", deployment(caching(volume=claim)), pool()) == [
        f"{SPEC}.volumes[0].persistentVolumeClaim.claimName"
    ]
    assert unchecked("cache-per-gpu", deployment(caching(nodeSelector=UNKNOWN)), pool()) == [f"{SPEC}.nodeSelector"]
    assert found("cache-per-gpu", deployment(caching(volume="cache")), pool()) == [
        f"{SPEC}.volumes[0]: expected a mapping, found a text"
    ]
    for spec in (None, {}, {"containers": [{}]}, pod(volumes=None)):
        assert found("cache-per-gpu", deployment(spec), pool()) == []


MODEL = "s3://b/models/gemma"


def beside(*args, command=None, variables=None):
    one = {"name": "vllm", "command": command, "args": list(args), "env": env(**(variables or {}))}
    return found("cache-beside-model", workload(JOB, {"containers": [one]}))


def below(name, folder, model=MODEL):
    return [f"container vllm: {name} ({folder}) lies below the model ({model}); put it beside"]


@pytest.mark.parametrize(
    "named",
    [
        {"args": [f"{MODEL}/"]},
        {"args": ["serve", MODEL]},
        {"args": ["--model", MODEL]},
        {"args": [f"--model={MODEL}"]},
        {"args": [], "command": ["python3", "/wrapper.py", "vllm", "serve", MODEL]},
        {"args": [], "command": ["sh", "-c", f"sleep 1; exec vllm serve {MODEL}"]},
    ],
)
def test_a_model_is_found_where_vllm_finds_it(named):
    args, command = named["args"], named.get("command")
    assert beside(*args, "--cache=s3://b/caches", command=command) == []
    assert beside(*args, "--cache-prefix=s3://b/models/gemma-2/c", command=command) == []
    folder = f"{MODEL}/cache"
    assert beside(*args, f"--cache={folder}", command=command) == below("--cache", folder)
    assert beside(*args, "--cache-dir", folder, command=command) == below("--cache-dir", folder)
    assert beside(*args, command=command, variables={"START_CACHE": folder}) == below("START_CACHE", folder)


def test_folders_on_disk_count_too_and_caches_of_weights_do_not():
    assert beside("/models/a", variables={"VLLM_CACHE_ROOT": "/models/a/c"}) == below(
        "VLLM_CACHE_ROOT", "/models/a/c", "/models/a"
    )
    assert beside("/models/a", variables={"HF_HUB_CACHE": "/models/a", "USE_CACHE": "1"}) == []
    assert beside("/models/a", "--kv-cache-dtype=auto") == []


def test_what_is_no_model_is_none():
    for args, command in (
        (["google/gemma", "--cache=/x"], None),
        (["/data", "--cache=/data/c"], ["python3", "work.py"]),
        (["/", "--cache=/c"], None),
        (["serve"], None),
        ([], None),
    ):
        assert beside(*args, command=command) == []


def test_a_variable_that_cannot_be_read_hides_nothing_else():
    spec = {"containers": [{"name": "vllm", "args": [MODEL, f"--cache={MODEL}/c"], "env": env(A_CACHE=UNKNOWN)}]}
    job = workload(JOB, {**spec, "initContainers": [{"name": "first", "args": [UNKNOWN]}]})
    assert found("cache-beside-model", job) == below("--cache", f"{MODEL}/c")
    assert unchecked("cache-beside-model", job) == [
        f"{SPEC}.initContainers[0].args[0]",
        f"{SPEC}.containers[0].env[0].value",
    ]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"args": MODEL}, "args: expected a list, found a text"),
        ({"args": [5]}, "args[0]: expected a text, found a number"),
        ({"args": [MODEL], "env": True}, "env: expected a list, found true or false"),
        ({"args": [MODEL], "env": env(A_CACHE=5)}, "env[0].value: expected a text, found a number"),
    ],
)
def test_wrong_types_are_named_by_their_path(given, said):
    job = workload(JOB, {"containers": [{"name": "vllm", **given}]})
    assert found("cache-beside-model", job) == [f"{SPEC}.containers[0].{said}"]
    assert found("cache-beside-model", resource(JOB, {"spec": None})) == []
