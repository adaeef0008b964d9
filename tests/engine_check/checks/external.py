"""A pod with `wake: external`: an annotation says what is wanted, a label says what is, and no request wakes it."""

import json
from collections.abc import Mapping

from serving.front import AWAKE_LABEL
from serving.front.containers import AGENT
from tests.engine_check.client import CHAT, asked, until
from tests.engine_check.pod.cluster import Cluster
from tests.engine_check.pod.rendered import HOLD, Container
from tests.engine_check.scene import BEARER, Scene


def differences(one: Mapping[str, Container], other: Mapping[str, Container]) -> list[str]:
    """Return the containers in which two pods differ."""
    return [name for name in {**one, **other} if one.get(name) != other.get(name)]


class External:
    """The checks, over one API server."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def an_agent_of_its_own_takes_the_pod_over(self, scene: Scene) -> None:
        """The containers differ in nothing but the agent: so the engine and nginx go on as they are."""
        scene.kubelet.start(AGENT)
        until(lambda: scene.kubelet.probe(AGENT, "startup").good, "its startup probe fails")
        until(scene.ready, "the pod is not ready")
        scene.served()
        assert self._cluster.labels == {AWAKE_LABEL: "true"}

    def what_the_annotation_wants_is_done_and_the_label_says_so(self, scene: Scene) -> None:
        self._cluster.want("asleep")
        until(lambda: self._cluster.labels == {}, "the label stays")
        scene.sleeps()
        assert scene.ready(), "NotReady, it would hold up every rollout"

    def a_request_does_not_wake_it(self, scene: Scene) -> None:
        before = scene.calls()
        refusal = scene.get(CHAT, "POST", asked(5, stream=True), **BEARER)
        assert refusal.later, refusal
        message = json.loads(refusal.body)["error"]["message"]
        assert message == "The server cannot take the request now: the engine did not wake in time.", message
        assert [one for one in scene.calls()[len(before) :] if one.startswith("POST")] == []
        assert (scene.state, scene.is_sleeping()) == ("asleep", True), f"awake after {HOLD} s"

    def wanted_awake_it_wakes_and_has_its_label_again(self, scene: Scene) -> None:
        self._cluster.want("awake")
        until(lambda: self._cluster.labels == {AWAKE_LABEL: "true"}, "the label does not come back")
        scene.served()
        assert self._cluster.refused == [], self._cluster.refused

    @property
    def checks(self) -> tuple:
        return (
            self.an_agent_of_its_own_takes_the_pod_over,
            self.what_the_annotation_wants_is_done_and_the_label_says_so,
            self.a_request_does_not_wake_it,
            self.wanted_awake_it_wakes_and_has_its_label_again,
        )
