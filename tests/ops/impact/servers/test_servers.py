"""The verdict of a server: its cache, its pods, and for how long nothing serves."""

import pytest

from infra.gpu_pools import POOL_LABEL
from ops.impact.drift import CLASS_TYPE, POOL_TYPE
from ops.impact.plan import DEPLOYMENT
from ops.impact.servers.cache import Misses
from tests.ops.impact.plans import PREFIX, UNKNOWN, changed, key, node_pool, pod, predicted, server, spec

SECONDS = {"fresh node": 44.0, "warm node": 44.0, "restart": 44.0}
MISSES = {"chat": Misses(compile=SECONDS, all=dict.fromkeys(SECONDS, 80.0))}


def flag(document):
    pod(document)["containers"][0]["args"][1] = "--max-num-seqs=512"


def two(document):
    spec(document, DEPLOYMENT)["replicas"] = 2


def keeps(techniques):
    """The server's techniques: those that have to do with its cache."""
    return lambda it: it["resources"][-1]["inputs"]["metadata"].update(annotations={"vllm-eks/techniques": techniques})


def chat(impact):
    (only,) = impact.servers
    return only


def lasting(impact):
    return [(it.when, it.start, it.seconds) for it in chat(impact).interruptions]


def test_a_server_that_nothing_happens_to_is_untouched():
    impact = changed(lambda _: None)
    assert chat(impact).untouched
    assert impact.nothing


def test_the_number_of_replicas_restarts_no_pod():
    found = chat(changed(lambda it: spec(it, DEPLOYMENT).update(replicas=3)))
    assert (found.pods.restart, found.pods.replicas, found.interruptions) == (False, (1, 3), ())
    assert not found.untouched


def test_a_changed_flag_restarts_the_pods_where_they_ran():
    found = chat(changed(flag))
    assert [(it.path, it.before, it.after) for it in found.pods.changed] == [
        ("spec.containers[vllm].args[--max-num-seqs]", "256", "512")
    ]
    assert lasting(changed(flag)) == [("rollout", "restart", 77.0)]


def test_another_image_has_to_be_pulled_so_the_start_is_that_of_a_warm_node():
    def image(document):
        pod(document)["containers"][0]["image"] = "vllm:v2"

    assert lasting(changed(image)) == [("rollout", "warm node", 130.0)]


@pytest.mark.parametrize(
    ("was", "now", "seconds"),
    [("/n/m/r1", "/n/m/r2", 103.5), (None, "/n/m/r2", 103.5), ("/n/m/r1", "/n/m/r1", 77.0), ("/n/m/r1", None, 77.0)],
    ids=["another revision", "the first copy", "the same", "none any more"],
)
def test_weights_that_the_node_has_no_copy_of_come_anew(was, now, seconds):
    """Half of each predicted start is its weights: 130 / 2 instead of 77 / 2."""

    def copy(path):
        volumes = [{"name": "weights", "hostPath": {"path": path}}] if path else []
        return lambda it: pod(it).update(volumes=[{"name": "cache", "emptyDir": {}}, *volumes])

    def both(document):
        copy(now)(document)
        flag(document)

    assert lasting(changed(both, before=copy(was))) == [("rollout", "restart", seconds)]


def test_an_image_that_another_container_had_is_on_the_node():
    def drop(document):
        pod(document).pop("initContainers")

    assert lasting(changed(drop)) == [("rollout", "restart", 77.0)]


def test_another_pool_means_a_fresh_node():
    def move(document):
        document["resources"].append(node_pool("l4"))
        pod(document)["nodeSelector"][POOL_LABEL] = "l4"

    assert lasting(changed(move)) == [("rollout", "fresh node", 176.0)]


def test_a_pool_that_is_replaced_takes_the_pods_node_with_it():
    def replace(document):
        flag(document)
        next(it for it in document["resources"] if it["type"] == POOL_TYPE)["action"] = "replace"

    assert lasting(changed(replace)) == [("rollout", "fresh node", 176.0)]


def test_a_surge_serves_on():
    def surge(document):
        spec(document, DEPLOYMENT)["strategy"] = {"type": "RollingUpdate"}
        flag(document)

    found = chat(changed(surge))
    assert (found.pods.restart, found.pods.rollout, found.pods.gpus, found.interruptions) == (True, "surge", 1, ())


def test_a_deployment_that_is_replaced_serves_nothing_whatever_its_strategy():
    def replace(document):
        spec(document, DEPLOYMENT)["strategy"] = {"type": "RollingUpdate"}
        document["resources"][-1]["action"] = "replace"

    found = chat(changed(replace))
    assert (found.pods.restart, found.pods.replaced) == (True, True)
    assert lasting(changed(replace)) == [("rollout", "restart", 77.0)]


def test_a_server_without_pods_loses_none():
    def stop(document):
        spec(document, DEPLOYMENT)["replicas"] = 0

    assert lasting(changed(flag, before=stop)) == []


def test_nodes_that_drift_cost_a_start_from_nothing():
    def drift(document):
        spec(document, CLASS_TYPE)["userData"] = "x"

    assert lasting(changed(drift)) == [("drift", "fresh node", 176.0)]
    assert lasting(changed(drift, tree=lambda it: it["gpuPools"]["l40s"].update(updateWindow="never"))) == []
    assert lasting(changed(drift, before=two)) == []


def test_pods_that_go_with_their_nodes_are_not_untouched_although_the_others_serve():
    def drift(document):
        spec(document, CLASS_TYPE)["userData"] = "x"

    found = chat(changed(drift, before=two))
    assert (found.evicted, found.untouched, found.interruptions) == (True, False, ())
    stays = changed(drift, before=two, tree=lambda it: it["gpuPools"]["l40s"].update(updateWindow="never"))
    assert (chat(stays).evicted, chat(stays).untouched) == (False, True)


def test_what_is_known_only_after_up_may_restart_the_pods():
    def unknown(document):
        pod(document)["containers"][0]["args"][0] = f"s3://{UNKNOWN}/"

    found = chat(changed(unknown))
    assert (found.pods.restart, found.pods.certain) == (True, False)


def test_without_a_prediction_nobody_knows_how_long():
    def older(document):
        del document["outputs"]["servers"]["chat"]["predicted"]

    assert lasting(changed(flag, before=older)) == [("rollout", "restart", None)]


@pytest.mark.parametrize(
    ("folder", "seconds"), [(PREFIX, 121.0), ("vllm-cache/other/gpu/model/", 157.0)], ids=["base stays", "base goes"]
)
def test_a_key_that_moves_costs_what_the_cache_had_saved(folder, seconds):
    impact = changed(flag, keys=(key(), key("new", folder=folder, **{"flag.max-num-seqs": 512})), misses=MISSES)
    assert chat(impact).cache.moved == {"flag.max-num-seqs": (256, 512)}
    assert chat(impact).cache.cold
    assert lasting(impact) == [("rollout", "restart", seconds)]


def test_what_a_miss_costs_is_unknown_to_another_checkout():
    impact = changed(flag, keys=(key(), key("new", **{"flag.max-num-seqs": 512})))
    assert lasting(impact) == [("rollout", "restart", None)]


@pytest.mark.parametrize(
    ("change", "lasts"),
    [
        (flag, ("rollout", "restart", 157.0)),
        (lambda it: spec(it, CLASS_TYPE).update(tags={}), ("drift", "fresh node", 176.0)),
    ],
    ids=["rollout", "node"],
)
def test_a_rollout_waits_for_the_old_pods_end_and_a_pod_of_another_node_does_not(change, lasts):
    def ends(document):
        pod(document)["terminationGracePeriodSeconds"] = 80

    assert lasting(changed(change, before=ends)) == [lasts]


def test_the_candidates_cache_is_no_cold_compile():
    impact = changed(
        flag,
        keys=(key(), key("new", **{"engine.version": "2"})),
        candidates={"chat": f"{PREFIX}new/"},
        misses=MISSES,
    )
    assert (chat(impact).cache.outcome, chat(impact).cache.cold) == ("built as candidate", False)
    assert lasting(impact) == [("rollout", "restart", 77.0)]


def test_a_server_that_keeps_no_cache_loses_none():
    def bare(document):
        document["resources"][-1]["inputs"]["metadata"]["annotations"] = {}

    impact = changed(flag, before=bare, keys=(key(), key("new")), misses=MISSES)
    assert (chat(impact).cache.outcome, chat(impact).cache.cold) == ("none", False)


@pytest.mark.parametrize("keys", [None, (key(), key("new"))], ids=["the key stays", "the key moves"])
def test_a_cache_that_is_given_up_is_a_cold_compile_whatever_the_key_does(keys):
    impact = changed(keeps("streaming-loader"), keys=keys, misses=MISSES)
    assert (chat(impact).cache.outcome, chat(impact).cache.cold) == ("given up", True)
    assert not chat(impact).untouched


@pytest.mark.parametrize("before", ["", "node-cache"], ids=["no cache", "the node's alone"])
def test_a_server_that_published_nothing_finds_no_base_archive(before):
    def on(document):
        keeps("node-cache,cache-restore")(document)
        flag(document)

    impact = changed(on, before=keeps(before), keys=(key(), key("new")), misses=MISSES)
    assert (chat(impact).cache.restores, chat(impact).cache.base_stays) == (True, False)
    assert lasting(impact) == [("rollout", "restart", 157.0)]


def test_a_server_that_restores_nothing_compiles_on_each_node():
    def node_cache(document):
        document["resources"][-1]["inputs"]["metadata"]["annotations"] = {"vllm-eks/techniques": "node-cache"}

    impact = changed(flag, before=node_cache, keys=(key(), key("new")), misses=MISSES)
    found = chat(impact).cache
    assert (found.restores, found.base_stays, found.buildable) == (False, False, False)
    assert lasting(impact) == [("rollout", "restart", 157.0)]


@pytest.mark.parametrize(
    ("facts", "engine", "buildable"),
    [
        ({"engine.version": "2", "engine.image": "vllm:v2"}, {"version": "2"}, True),
        ({"engine.version": "2", "env.NEW": "1"}, {"version": "2"}, True),
        ({"flag.dtype": "half"}, {"args": {"dtype": "half"}}, True),
        ({"flag.max-num-seqs": 512}, {"maxNumSeqs": 512}, False),
        ({"flag.max-num-seqs": 512, "engine.version": "2"}, {"version": "2", "maxNumSeqs": 512}, False),
        ({"engine.version": "2", "gpu.product": "l4"}, {"version": "2"}, False),
        ({"env.NEW": "1"}, {}, False),
    ],
    ids=["image", "what follows from it", "args", "a setting", "both", "another GPU", "the program"],
)
def test_a_cache_can_be_built_first_when_a_candidate_can_hold_what_moves(facts, engine, buildable):
    impact = changed(
        lambda _: None,
        tree=lambda it: it["servers"]["chat"]["engine"].update(engine),
        keys=(key(), key("new", **facts)),
    )
    assert chat(impact).cache.buildable is buildable


def test_servers_that_come_and_go_are_named():
    def swap(document):
        document["resources"][-1] = server("new")
        document["outputs"]["servers"] = {"new": {"cachePrefix": "x", "predicted": predicted(freshNode=99.0)}}

    assert [(it.name, it.state, it.interruptions) for it in changed(swap).servers] == [
        ("new", "new", ()),
        ("chat", "removed", ()),
    ]


def test_the_slowest_type_of_a_pool_is_what_is_promised():
    def slower(document):
        its = document["outputs"]["servers"]["chat"]["predicted"]
        its["g6e.12xlarge"] = predicted(freshNode=200.0, restart=90.0)["g6e.2xlarge"]

    assert chat(changed(slower)).after.type == "g6e.12xlarge"
    assert lasting(changed(flag, before=slower)) == [("rollout", "restart", 90.0)]
