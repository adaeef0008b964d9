"""The state machine alone, one story at a time."""

from hypothesis import given
from hypothesis import strategies as st

from terms import Outcome
from tests.serving.scripts.agent.world import LIMITS, World


def test_a_new_engine_sleeps_and_wakes_once_before_it_takes_traffic() -> None:
    world = World(True)
    states = [(world.machine.state, world.perform()) for _ in range(12)]
    asked = [step for _, step in states if step in ("sleep", "wake")]
    assert asked == ["sleep", "wake"]
    assert {state for state, step in states if step in ("sleep", "wake")} == {"starting"}
    assert world.machine.state == "awake"
    assert world.machine.totals.wakes == 0


def test_while_it_starts_the_pod_is_not_ready_and_requests_are_refused() -> None:
    world = World(True)
    while world.machine.state == "starting":
        world.perform()
        if world.machine.priming:
            assert not world.machine.ready
            assert world.machine.request("early", world.now).why == "the engine is starting"
    assert world.machine.ready


def test_an_agent_that_comes_back_does_not_prime_the_same_engine_again() -> None:
    world = World(True).until("awake")
    again = World(True)
    again.machine.primed = world.machine.primed
    again.until("awake")
    assert again.slept == 0


def test_an_agent_that_comes_back_finds_a_sleeper_and_wakes_it_for_who_waits() -> None:
    world = World(True, sleeping=True)
    world.request()
    world.until("awake")
    assert (world.slept, set(world.running)) == (0, {"r0"})


def test_idle_it_falls_asleep_and_a_request_wakes_it() -> None:
    world = World(True).until("awake")
    began = world.now
    world.until("asleep")
    assert LIMITS["idle"] <= world.now - began < LIMITS["idle"] + 2
    world.request()
    assert world.waiting
    world.until("awake")
    assert set(world.running) == {"r0"}
    assert world.machine.totals.wakes == 1


def test_a_stream_keeps_it_awake_however_long() -> None:
    world = World(True).until("awake")
    world.request()
    for _ in range(200):
        world.perform()
    assert (world.machine.state, world.slept) == ("awake", 1)


def test_a_request_whose_end_was_lost_does_not_keep_it_awake_for_ever() -> None:
    world = World(True).until("awake")
    world.request()
    world.running.clear()  # the engine is done with it, and nobody has told the agent
    world.until("asleep", 1000)
    assert world.machine.ledger.lost == 1


def test_a_new_request_calls_off_a_sleep_that_is_not_ordered_yet() -> None:
    world = World(True).until("awake")
    world.request()
    world.machine.want("asleep", world.now)
    world.until("draining")
    world.request()
    assert (world.machine.state, len(world.running), world.slept) == ("awake", 2, 1)


def test_requests_that_do_not_end_keep_it_awake_after_the_drain_limit() -> None:
    world = World(True).until("awake")
    world.request()
    world.machine.want("asleep", world.now)
    world.until("draining").until("awake")
    assert world.machine.problem == "1 requests did not end within 4 s"


def test_who_waits_too_long_is_refused() -> None:
    world = World(False).until("awake")
    world.machine.want("asleep", world.now)
    world.machine.label  # noqa: B018
    world.until("closing")
    world.machine.labelled(False, world.now)
    world.until("asleep")
    world.request()
    for _ in range(10):
        world.perform()
    assert not world.waiting
    assert world.machine.totals.refused == 1


def test_external_nothing_but_the_wanted_state_puts_it_to_sleep_or_wakes_it() -> None:
    world = World(False).until("awake")
    for _ in range(100):
        world.perform()
    assert (world.machine.state, world.machine.label) == ("awake", True)
    world.machine.want("asleep", world.now)
    world.until("closing")
    assert world.machine.label is False
    world.request()
    assert set(world.running) == {"r0"}, "endpoints follow the label with a delay"
    world.end("r0")
    world.machine.labelled(False, world.now)
    world.until("asleep")
    world.request()
    for _ in range(3):
        world.perform()
    assert world.machine.state == "asleep"
    world.machine.want("awake", world.now)
    world.until("awake")
    assert world.machine.label is True


def test_an_arbiter_s_sleeper_stays_asleep_until_it_is_told_to_wake() -> None:
    world = World(True).until("awake")
    world.machine.want("asleep", world.now, stay=True)
    world.until("asleep")
    world.request()
    for _ in range(2):
        world.perform()
    assert world.machine.state == "asleep"
    world.machine.want("awake", world.now)
    world.until("awake")
    assert set(world.running) == {"r0"}


def test_an_engine_that_does_not_wake_is_failed_until_kubelet_has_restarted_it() -> None:
    world = World(True).until("awake").until("asleep")
    world.request()
    while world.machine.state in ("asleep", "waking"):
        world.perform("hangs")
    assert world.machine.state == "failed"
    assert (world.machine.ready, world.waiting) == (False, {})
    world.die()
    world.until("starting")
    world.restart()
    world.until("awake")


def test_at_the_end_of_the_pod_an_awake_engine_serves_and_a_sleeper_is_not_woken() -> None:
    awake = World(True).until("awake")
    awake.machine.stop(awake.now)
    awake.request()
    assert set(awake.running) == {"r0"}
    asleep = World(True).until("awake").until("asleep")
    asleep.request()
    asleep.machine.stop(asleep.now)
    asleep.take()
    assert not asleep.waiting
    slept = asleep.slept
    for world in (awake, asleep):
        world.running.clear()
        for _ in range(100):
            assert world.perform() in ("rest", "health")
    assert (awake.slept, asleep.slept) == (1, slept)


def test_a_stop_that_was_a_restart_of_the_engine_ends_with_a_new_start() -> None:
    """Kubelet runs preStop also before it restarts a container whose liveness has failed."""
    world = World(True).until("awake")
    world.machine.stop(world.now)
    world.die()
    for _ in range(5):
        world.perform()
    world.restart()
    world.until("awake")
    assert world.slept == 2


def test_an_engine_without_the_endpoint_stays_awake() -> None:
    world = World(True)
    for _ in range(3):
        step, _ = world.machine.step(world.now)
        absent = Outcome(ok=False, absent=True)
        world.machine.learned(step, absent if step == "ask" else world.engine(step), world.now)
    assert world.machine.state == "awake"
    assert world.machine.problem == "the engine does not tell whether it sleeps or what it runs: it stays awake"
    assert not world.slept


@given(st.lists(st.floats(0, 3), max_size=5))
def test_seconds_asleep_are_those_between_falling_asleep_and_waking(naps: list[float]) -> None:
    world = World(True).until("awake")
    total = 0.0
    for nap in naps:
        world.machine.want("asleep", world.now)
        world.until("asleep")
        began = world.machine.since
        world.now += nap
        world.machine.want("awake", world.now)
        world.until("waking")
        total += world.machine.since - began
        world.until("awake")
    assert abs(world.machine.asleep_seconds(world.now) - total) < 1e-6


def test_a_request_that_the_engine_does_not_count_yet_holds_up_a_sleep() -> None:
    world = World(True).until("awake")
    world.request()
    world.machine.want("asleep", world.now)
    world.until("draining")
    for _ in range(30):
        world.running = dict.fromkeys(world.running, world.now)
        world.perform()
        assert world.slept == 1


def test_what_the_engine_runs_for_an_agent_that_is_gone_holds_up_a_sleep() -> None:
    world = World(True).until("awake")
    world.running["of the agent before"] = 0.0
    world.machine.want("asleep", world.now)
    world.until("draining")
    for _ in range(30):
        world.perform()
        assert world.slept == 1
    world.running.clear()
    world.machine.want("asleep", world.now)
    world.until("asleep")


def test_after_a_sleep_that_was_not_answered_the_engine_is_woken_before_anything_passes() -> None:
    world = World(True).until("awake")
    world.machine.want("asleep", world.now)
    for _ in range(50):
        if world.slept == 1:
            world.perform("cut")
    assert world.sleeping
    world.request()
    assert world.waiting
    world.until("awake")
    assert not world.sleeping
    assert world.machine.problem == ""


def test_an_arbiter_s_order_outlives_the_engine_and_any_other_does_not() -> None:
    for stay, slept in ((True, 3), (False, 2)):
        world = World(True).until("awake")
        world.machine.want("asleep", world.now, stay=stay)
        world.die()
        world.until("starting")
        world.restart()
        world.until("awake")
        for _ in range(8):
            world.perform()
        assert world.slept == slept
