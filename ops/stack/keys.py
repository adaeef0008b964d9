"""Cache keys of the servers of a stack file, as the program computes them."""

from collections.abc import Mapping

from ops.failures import RefusedError
from ops.stack.stack_file import Stack
from serving.cache_key import CacheKey, KeyedServer, cache_key
from serving.cache_key.server import keyed
from serving.server import ServerSettings


def asked_for(stack: Stack, name: str, *, candidate: bool) -> ServerSettings:
    """Return a server as it is, or as its candidate makes it.

    Raises:
        UsageError: there is no such server.
        RefusedError: it has no candidate.
    """
    server = stack.server(name)
    if not candidate:
        return server
    if server.promoted is None:
        raise RefusedError(f"servers.{name}.candidate: missing; expected {{version: ..., args: {{}}}}")
    return server.promoted


def keyed_server(stack: Stack, server: ServerSettings) -> KeyedServer:
    """Return what decides over the server's cache."""
    return keyed(stack.situation(server), server.chosen)


def users(stack: Stack) -> Mapping[str, CacheKey]:
    """Return the key of every server and candidate, by what people call it: `chat`, `chat (candidate)`.

    Of servers too that restore no cache today: what they would restore tomorrow is not rubbish.
    """
    servers = stack.settings.servers
    candidates = {f"{name} (candidate)": it.promoted for name, it in servers.items() if it.promoted}
    return {name: cache_key(keyed_server(stack, server)) for name, server in {**servers, **candidates}.items()}
