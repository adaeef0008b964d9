import pytest

from guardrails.pods import pods
from guardrails.start_up.instances import kinds
from guardrails.start_up.places import places
from guardrails.value import MalformedError
from tests.policies.start_up.shapes import POOL, TAINT, deployment, pod, pool

GPU = "karpenter.k8s.aws/instance-gpu-name"


def need(key, operator, *values):
    return {"key": key, "operator": operator, "values": list(values)}


def affinity(*terms):
    required = {"nodeSelectorTerms": [{"matchExpressions": list(term)} for term in terms]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


def of(*pools, **given):
    """Pools and types on which a pod may run."""
    (it,) = pods(deployment(pod(pool=None, **given)))
    return {place.pool.name: [kind.name for kind in place.kinds] for place in places(it, pools, kinds({}))}


MIXED = pool("mixed", types=("g6.2xlarge", "g6e.2xlarge", "g6e.4xlarge"))
SMALL = pool("small", types=("g6.xlarge",))


def test_a_pod_that_says_nothing_runs_on_every_type_of_every_gpu_pool():
    web = pool("web", limit=None, types=("m7i.large",), taints=[])
    assert of(MIXED, SMALL, web) == {"mixed": ["g6.2xlarge", "g6e.2xlarge", "g6e.4xlarge"], "small": ["g6.xlarge"]}


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"nodeSelector": {POOL: "small"}}, {"small": ["g6.xlarge"]}),
        ({"nodeSelector": {"karpenter.sh/nodepool": "small"}}, {"small": ["g6.xlarge"]}),
        ({"nodeSelector": {GPU: "l4"}}, {"mixed": ["g6.2xlarge"], "small": ["g6.xlarge"]}),
        ({"nodeSelector": {"topology.kubernetes.io/zone": "a", POOL: "small"}}, {"small": ["g6.xlarge"]}),
        # no pool has that label, and nodes do not get it by themselves
        ({"nodeSelector": {"team/other": "x"}}, {}),
        ({"nodeSelector": {GPU: "h100"}}, {}),
        ({"affinity": affinity([need(POOL, "NotIn", "mixed")])}, {"small": ["g6.xlarge"]}),
        ({"affinity": affinity([need("team/other", "Exists")])}, {}),
        (
            {"affinity": affinity([need("team/other", "DoesNotExist"), need(POOL, "In", "small")])},
            {"small": ["g6.xlarge"]},
        ),
        ({"affinity": affinity([need("karpenter.k8s.aws/instance-cpu", "Gt", "8")])}, {"mixed": ["g6e.4xlarge"]}),
        ({"affinity": affinity([need("karpenter.k8s.aws/instance-cpu", "Lt", "8")])}, {"small": ["g6.xlarge"]}),
        ({"affinity": affinity([need("karpenter.k8s.aws/instance-cpu", "Gte", "16")])}, {"mixed": ["g6e.4xlarge"]}),
        ({"affinity": affinity([need("karpenter.k8s.aws/instance-cpu", "Lte", "4")])}, {"small": ["g6.xlarge"]}),
        # any term will do, and all that one says holds
        (
            {"affinity": affinity([need(POOL, "In", "small")], [need(POOL, "In", "mixed"), need(GPU, "In", "l4")])},
            {"mixed": ["g6.2xlarge"], "small": ["g6.xlarge"]},
        ),
        (
            {"nodeSelector": {GPU: "l40s"}, "affinity": affinity([need(POOL, "In", "small")], [need(POOL, "Exists")])},
            {"mixed": ["g6e.2xlarge", "g6e.4xlarge"]},
        ),
    ],
)
def test_selector_and_affinity_leave_what_they_name(given, found):
    assert of(MIXED, SMALL, **given) == found


def test_tolerations_leave_the_pools_that_take_the_pod():
    own = pool("own", types=("g6.xlarge",), taints=[TAINT, {"key": "own", "effect": "NoSchedule"}])
    assert of(SMALL, own) == {"small": ["g6.xlarge"]}
    # it runs nowhere, which another rule says: where it was meant to run is all that one can tell
    assert of(own) == {"own": ["g6.xlarge"]}


def test_a_pool_without_types_has_all_that_its_requirements_leave():
    every = pool("any", types=None, requirements=[need("karpenter.k8s.aws/instance-family", "In", "p5", "p5en")])
    assert of(every) == {"any": ["p5.48xlarge", "p5.4xlarge", "p5en.48xlarge"]}


def test_types_that_are_not_known_leave_the_pool_open():
    (it,) = pods(deployment(pod(pool=None)))
    (place,) = places(it, [pool("new", types=("g99.xlarge", "g6.xlarge"))], kinds({}))
    assert ([kind.name for kind in place.kinds], place.complete) == (["g6.xlarge"], False)


def test_a_requirement_that_says_nothing_is_named():
    path = "spec.template.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"
    with pytest.raises(MalformedError) as error:
        of(SMALL, affinity=affinity([need(POOL, "Near", "small")]))
    assert str(error.value) == (
        f"{path}.nodeSelectorTerms[0].matchExpressions[0]: no requirement of a label: Near ['small']"
    )
