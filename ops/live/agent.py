"""The agent beside an engine that can sleep, as its control port speaks (serving/scripts/agent/doors.py)."""

import json
from collections.abc import Mapping
from http import HTTPStatus
from http.client import HTTPConnection
from typing import Any

from ops.failures import UnclearError
from ops.terminal import echo


class Agent:
    """One pod's agent. Each request returns its state.

    That is `state ready wanted stay held inFlight seconds lastWakeSeconds problem`, `seconds` since the state began.
    All raise OSError and HTTPException when the connection ends, which `tunnel.connection` makes a failure of, and
    UnclearError when what answers is no agent.
    """

    def __init__(self, connection: HTTPConnection) -> None:
        """`connection`: to the control port, `serving.front.CONTROL_PORT`."""
        self._connection = connection

    def state(self) -> Mapping[str, Any]:
        """Ask how it stands."""
        return self._ask("GET", "/state")

    def sleep(self, *, stay: bool = False) -> Mapping[str, Any]:
        """Order it to sleep when nothing runs any more. `stay`: no request wakes it, only `wake` does."""
        return self._ask("POST", "/sleep?stay=true" if stay else "/sleep")

    def wake(self) -> Mapping[str, Any]:
        """Order it to wake. While it still drains, that calls the sleep off."""
        return self._ask("POST", "/wake")

    def _ask(self, method: str, path: str) -> Mapping[str, Any]:
        self._connection.request(method, path)
        answer = self._connection.getresponse()
        text = answer.read().decode("utf-8", "replace")
        try:
            state = json.loads(text)
        except ValueError:
            state = None
        if not isinstance(state, dict) or "state" not in state:
            raise UnclearError(f"{method} {path}: no agent answers at its port, but {answer.status} {echo(text)}")
        if answer.status != HTTPStatus.OK:
            raise UnclearError(f"{method} {path}: the agent answers {answer.status}: {echo(str(state.get('error')))}")
        return state
