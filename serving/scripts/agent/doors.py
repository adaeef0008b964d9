"""Who may speak to the agent: nginx at the gate, and whoever gives orders at the control port. Both are on loopback."""

import asyncio
import json
from urllib.parse import parse_qs

import gauges
from driver import Driver
from httpd import Request, Response
from terms import Decision

GARBAGE = "after a sleep of level 2 the engine answers 200 with garbage; level 1 is the only one"


class Gate:
    """What nginx asks: may this request pass (`/gate`), is the pod ready, and the metrics."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._waiting: dict[str, list[asyncio.Future[Response]]] = {}
        driver.decide = self._decided

    def __call__(self, request: Request) -> Response | asyncio.Future[Response]:
        """Answer, or wait."""
        if request.path == "/gate":
            return self._gate(request.headers.get("x-request-id", ""))
        if request.path == "/ready":
            machine = self._driver.machine
            said = ": ".join(filter(None, (machine.state, machine.looks.complaint(self._driver.clock()))))
            return Response(200 if machine.ready else 503, f"{said}\n")
        if request.path == "/agent/metrics":
            return Response(200, gauges.text(self._driver.machine, self._driver.clock()), gauges.KIND)
        return Response(404)

    def _gate(self, request: str) -> Response | asyncio.Future[Response]:
        if not request:
            return Response(400)
        decision = self._driver.request(request)
        if decision:
            return answer(decision)
        # made at once: the decision may come before any task runs
        future: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(request, []).append(future)
        return future

    def _decided(self, request: str, decision: Decision) -> None:
        for future in self._waiting.pop(request, []):
            if not future.done():
                future.set_result(answer(decision))


def answer(decision: Decision) -> Response:
    """Return how `auth_request` is told: it knows 2xx and 403, and takes everything else for a fault of the agent."""
    if decision.admitted:
        return Response(204)
    return Response(403, headers={"Retry-After": str(decision.retry), "X-Why": decision.why})


class Control:
    """Orders, for `ops`, for the engine's preStop, and for whoever shares one GPU among several servers.

    GET /state; POST /wake; POST /sleep; POST /sleep?stay=true (no request wakes it until POST /wake); POST /stop.
    Each answers at once with the state as JSON; who waits for one asks /state again.
    """

    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    def __call__(self, request: Request) -> Response:
        """Answer."""
        options = parse_qs(request.query)
        if request.path == "/alive":
            return Response(200, "alive\n")
        if (request.method, request.path) == ("POST", "/sleep"):
            if options.get("level", ["1"]) != ["1"]:
                return self._state(400, GARBAGE)
            self._driver.want("asleep", stay=options.get("stay") == ["true"])
        elif (request.method, request.path) == ("POST", "/wake"):
            self._driver.want("awake")
        elif (request.method, request.path) == ("POST", "/stop"):
            self._driver.stop()
        elif request.path in ("/sleep", "/wake", "/stop"):
            return self._state(405, f"expected POST {request.path}")
        elif request.path != "/state":
            return self._state(404, "expected /state, /sleep, /wake or /stop")
        return self._state(200)

    def _state(self, status: int, error: str = "") -> Response:
        machine, now = self._driver.machine, self._driver.clock()
        state = {
            "state": machine.state,
            "ready": machine.ready,
            "wanted": machine.wanted,
            "stay": machine.stay,
            "held": len(machine.ledger.held),
            "inFlight": len(machine.ledger.open),
            "seconds": round(now - machine.since, 3),
            "lastWakeSeconds": round(machine.totals.last_wake, 3),
            "problem": machine.problem,
            **({"error": error} if error else {}),
        }
        return Response(status, json.dumps(state) + "\n", "application/json")
