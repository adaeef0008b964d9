"""wake: the engine is put to sleep through its agent, and woken. No pod and no node changes."""

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from ops import COMMAND
from ops.cluster.api import Body
from ops.coldstart.measure.provoke import Say
from ops.coldstart.measure.put_back import Promise, PutBack
from ops.coldstart.measure.reach import Agent
from ops.coldstart.measure.target import Target
from ops.failures import RefusedError, UnclearError
from serving.techniques.front.sleep_mode import SLEEP_MODE

LOOK = 0.05
"""Seconds between two looks while it wakes: what `total` may be wrong by. `wake` itself is the agent's own figure."""

LONGEST_SLEEP, LONGEST_WAKE = 600.0, 600.0
"""Seconds that the engine may take to fall asleep and to wake (serving/scripts/agent/engine_client.py, PATIENCE)."""


@dataclass(frozen=True, kw_only=True)
class Woken:
    """A wake."""

    began: datetime
    """When it was ordered, by this machine's clock."""
    total: float
    """Seconds from the order until the agent says awake."""
    wake: float
    """Of them the agent's own figure: from its order to the engine until the engine is awake."""


@dataclass(frozen=True, kw_only=True)
class Wake:
    """Of one pod."""

    target: Target
    pod: Body
    agent: Callable[[str], AbstractContextManager[Agent]]

    @staticmethod
    def planned(target: Target, agent: Callable[[str], AbstractContextManager[Agent]]) -> "Wake":
        """Return what would be done.

        Raises:
            RefusedError: the server cannot sleep.
        """
        if SLEEP_MODE.name not in target.server.techniques:
            raise RefusedError(f"servers.{target.server.name}.techniques: no {SLEEP_MODE.name}, so there is no wake")
        return Wake(target=target, pod=target.pods[-1], agent=agent)

    @property
    def will(self) -> list[str]:
        """What will be done, a line each."""
        return [
            f"pod {self.target.namespace}/{self.pod['metadata']['name']} is put to sleep as soon as nothing runs in it,"
            " and woken; requests wait meanwhile"
        ]

    @property
    def overhead(self) -> float:
        """Seconds that it may drain before it sleeps, at most."""
        return float(self.target.server.settings.sleep.drain_seconds)

    def measured(self, back: PutBack, say: Say) -> Woken:
        """Put it to sleep, wake it, and return what that took.

        Raises:
            RefusedError: it does not fall asleep, or somebody wants it to stay so.
            UnclearError: it does not wake, or somebody else woke it.
        """
        name = self.pod["metadata"]["name"]
        with self.agent(name) as agent:
            state = agent.state()
            if state.get("stay"):
                raise RefusedError(
                    f"pod {name}: was told to stay asleep, perhaps for another server on its GPU: {COMMAND} wake"
                    f" --server {self.target.server.name} --stack {self.target.server.stack.name} --pod {name} first"
                )
            if state["state"] == "asleep":
                # it was somebody's wish
                self._promise(back, f"pod {name} asleep", "sleep", lambda other: other.sleep())
            awake = self._promise(back, f"pod {name} awake", "wake", lambda other: other.wake())
            say("falling asleep")
            agent.sleep()
            self._asleep(agent, name)
            if agent.state()["state"] != "asleep":
                raise UnclearError(f"pod {name}: a request woke it before the order did")
            say("waking")
            began, begun = datetime.now(UTC), time.monotonic()
            agent.wake()
            state = self._awake(agent, name)
            total = time.monotonic() - begun
            back.drop(awake)
        wake = min(float(state["lastWakeSeconds"]), total)
        return Woken(began=began, total=round(total, 3), wake=round(wake, 3))

    def _promise(self, back: PutBack, what: str, order: str, give: Callable[[Agent], object]) -> Promise:
        name, server = self.pod["metadata"]["name"], self.target.server
        by_hand = f"{COMMAND} {order} --server {server.name} --stack {server.stack.name} --pod {name} --yes"

        def act() -> None:
            # in a connection of its own: the one of the measurement has ended by then
            with self.agent(name) as agent:
                give(agent)

        return back.promise(what, by_hand, act)

    def _asleep(self, agent: Agent, name: str) -> None:
        deadline = time.monotonic() + self.overhead + LONGEST_SLEEP
        left = False
        while (state := agent.state())["state"] != "asleep":
            left = left or state["state"] in {"closing", "draining"}
            if state["state"] == "failed" or (left and state["state"] == "awake"):
                raise RefusedError(f"pod {name}: did not fall asleep: {_why(state)}")
            if time.monotonic() > deadline:
                raise UnclearError(f"pod {name}: not asleep after {self.overhead + LONGEST_SLEEP:.0f} s: {_why(state)}")
            time.sleep(LOOK)

    def _awake(self, agent: Agent, name: str) -> Mapping[str, Any]:
        deadline = time.monotonic() + LONGEST_WAKE
        while (state := agent.state())["state"] != "awake":
            if state["state"] == "failed" or time.monotonic() > deadline:
                raise UnclearError(f"pod {name}: does not wake: {_why(state)}")
            time.sleep(LOOK)
        return state


def _why(state: Mapping[str, Any]) -> str:
    return str(state.get("problem") or f"it is {state['state']}, with {state.get('inFlight', '?')} requests")
