"""The agent's metrics, in the text format of Prometheus."""

from machine import Machine
from terms import STATES

KIND = "text/plain; version=0.0.4; charset=utf-8"
PREFIX = "vllm_eks_agent_"


def text(machine: Machine, now: float) -> str:
    """Return them. Counters start anew with the agent."""
    totals, ledger = machine.totals, machine.ledger
    lines = ["# HELP {0}state 1 for the state that the server is in.", "# TYPE {0}state gauge"]
    lines += [f'{{0}}state{{{{state="{state}"}}}} {int(machine.state == state)}' for state in STATES]
    for name, kind, value, help_text in (
        ("asleep_seconds_total", "counter", machine.asleep_seconds(now), "Seconds asleep."),
        ("wakes_total", "counter", totals.wakes, "Wakes that ended well, that at the start left out."),
        ("wake_seconds_total", "counter", totals.wake_seconds, "Seconds that these took."),
        ("last_wake_seconds", "gauge", totals.last_wake, "Seconds that the last one took."),
        ("requests_held", "gauge", len(ledger.held), "Requests that wait for the engine."),
        ("requests_in_flight", "gauge", len(ledger.open), "Requests that are with the engine."),
        ("requests_refused_total", "counter", totals.refused, "Requests that were answered with 503."),
        ("requests_lost_total", "counter", ledger.lost, "Requests whose end was not told."),
    ):
        lines += [f"# HELP {{0}}{name} {help_text}", f"# TYPE {{0}}{name} {kind}", f"{{0}}{name} {value:g}"]
    return "\n".join(lines).format(PREFIX) + "\n"
