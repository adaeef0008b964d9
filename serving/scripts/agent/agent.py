"""The agent beside an engine that can sleep: `agent.py --engine=PORT --gate=PORT --control=PORT --folder=PATH ...`.

It decides for nginx what passes (the gate), puts the engine to sleep when nobody needs it, wakes it when somebody does,
and tells kubelet, Prometheus and `ops` how it stands. One line of log for each change of its state.
"""

import asyncio
import functools
import os
import signal
import sys
import threading
from pathlib import Path

import doors
import ended
import httpd
import pod_api
from between import between
from driver import Driver
from engine_client import EngineClient
from ledger import LOST
from terms import Limits
from usage import Parser, UsageError

_SWALLOWED = 0.2
"""Seconds after which a loop that was told to end and runs on is told again."""


def parser() -> Parser:
    """Return the command line."""
    made = Parser(prog="agent.py", description=__doc__)
    port = between(1, 65535)
    seconds = between(0.0, 86400.0)
    made.add_argument("--engine", type=port, required=True, help="port of the engine on loopback")
    made.add_argument("--gate", type=port, required=True, help="TCP and UDP port for nginx on loopback")
    made.add_argument("--control", type=port, required=True, help="port for orders on loopback")
    made.add_argument("--folder", type=Path, required=True, help="outlives this program")
    made.add_argument("--verdict", type=Path, required=True, help="file that the engine's liveness probe reads")
    made.add_argument("--wake", choices=("on-request", "external"), required=True)
    made.add_argument("--silent", type=seconds, required=True, help="seconds")
    usual = Limits(on_request=True, silent=0.0)
    for name in ("idle", "hold", "drain", "settle", "poll", "look", "retry", "busy"):
        made.add_argument(f"--{name}", type=seconds, default=getattr(usual, name), help="seconds")
    made.add_argument("--wake-limit", type=seconds, default=usual.wake, help="seconds")
    made.add_argument("--lost", type=seconds, default=LOST, help="seconds")
    made.add_argument("--period", type=seconds, default=5.0, help="seconds between two looks at the pod (external)")
    made.add_argument("--api", help="host:port of the Kubernetes API (external)")
    made.add_argument("--credentials", type=Path, help="folder with token and ca.crt (external)")
    made.add_argument("--annotation", help="that says what is wanted (external)")
    made.add_argument("--label", help="that Services select (external)")
    return made


def main(arguments: list[str]) -> int:
    """Return the exit code."""
    try:
        asked = parser().parse_args(arguments)
        external = asked.wake == "external"
        if external and not (asked.credentials and asked.annotation and asked.label):
            raise UsageError("--wake=external wants --credentials, --annotation and --label")
    except UsageError as error:
        sys.stderr.write(f"usage: {error}\n")
        return 2
    limits = Limits(
        on_request=not external,
        silent=asked.silent,
        wake=asked.wake_limit,
        **{name: getattr(asked, name) for name in ("idle", "hold", "drain", "settle", "poll", "look", "retry", "busy")},
    )
    api = None
    if external:
        cluster = f"{os.environ.get('KUBERNETES_SERVICE_HOST')}:{os.environ.get('KUBERNETES_SERVICE_PORT')}"
        api = pod_api.PodApi(
            address=asked.api or cluster,
            credentials=asked.credentials,
            namespace=os.environ.get("POD_NAMESPACE", ""),
            pod=os.environ.get("POD_NAME", ""),
            annotation=asked.annotation,
            label=asked.label,
        )
    client = EngineClient(asked.engine, {"wake": asked.wake_limit})
    driver = Driver(limits, client.perform, asked.folder, asked.verdict, asked.lost)
    try:
        return asyncio.run(serve(driver, asked.gate, asked.control, api, asked.period))
    except OSError as error:
        sys.stderr.write(f"{error}\n")
        return 1


async def serve(driver: Driver, gate: int, control: int, api: pod_api.PodApi | None, period: float) -> int:
    """Listen on both ports until SIGTERM.

    Raises:
        OSError: a port is taken.
    """
    loop = asyncio.get_running_loop()
    await ended.listen(driver.ended, gate)
    await httpd.listen(doors.Gate(driver), gate)
    await httpd.listen(doors.Control(driver), control)
    if api:
        follower = functools.partial(pod_api.follow, api, driver, loop.call_soon_threadsafe, period)
        threading.Thread(target=follower, daemon=True).start()
    ordered = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ordered.set)
    running, order = asyncio.ensure_future(driver.run()), asyncio.ensure_future(ordered.wait())
    await asyncio.wait({running, order}, return_when=asyncio.FIRST_COMPLETED)
    # again until it ends: before 3.12 `wait_for` swallows a cancel that comes in the turn in which its task ends
    while not running.done():
        running.cancel()
        await asyncio.wait({running}, timeout=_SWALLOWED)
    order.cancel()
    if not running.cancelled():
        running.result()
    driver.close()
    # the answers are written in the next turn of the loop
    await asyncio.sleep(0.05)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
