"""From settings to what the key is made of. Apart from the key itself, because techniques ask for that."""

from collections.abc import Sequence

from serving.cache_key import CacheKey, KeyedServer, cache_key
from serving.pod import Situation
from serving.techniques import shaped


def keyed(about: Situation, techniques: Sequence[str]) -> KeyedServer:
    """Return what decides over the cache of a server with these techniques."""
    # nothing that counts for the key may hold what is made up there
    pod = shaped(techniques, about)
    return KeyedServer(
        engine=about.engine,
        model=about.model,
        pool=about.pool,
        # an output only waits for the bucket: what it will be is the model's URI
        argument=pod.model if isinstance(pod.model, str) else str(about.model.uri),
        flags=pod.flags,
        env=pod.env,
    )


def server_key(about: Situation, techniques: Sequence[str]) -> CacheKey:
    """Return the key of a server with these techniques.

    Raises:
        BadArgumentError: a flag that the engine version does not take.
    """
    return cache_key(keyed(about, techniques))
