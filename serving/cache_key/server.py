"""From settings to what the key is made of. Apart from the key itself, because techniques ask for that."""

from collections.abc import Sequence

from serving.cache_key import CacheKey, KeyedServer, cache_key
from serving.pod import Situation, baseline
from serving.techniques import applied
from serving.techniques.technique import Provided

_ANY = CacheKey(engine="any", gpu="any", model="any", fingerprint="any")
"""In the place of the key that is being made: nothing that counts for it may hold it."""


def keyed(about: Situation, techniques: Sequence[str]) -> KeyedServer:
    """Return what decides over the cache of a server with these techniques."""
    uri = about.model.uri
    provided = Provided(
        server="any",
        bucket=uri.bucket,
        programs="any",
        key=_ANY,
        proxy_image="any",
        front_programs="any",
        tokens=None,
    )
    pod = applied(baseline(about, "any"), techniques, about, provided)
    return KeyedServer(
        engine=about.engine,
        model=about.model,
        pool=about.pool,
        # an output only waits for the bucket: what it will be is the model's URI
        argument=pod.model if isinstance(pod.model, str) else str(uri),
        flags=pod.flags,
        env=pod.env,
    )


def server_key(about: Situation, techniques: Sequence[str]) -> CacheKey:
    """Return the key of a server with these techniques.

    Raises:
        BadArgumentError: a flag that the engine version does not take.
    """
    return cache_key(keyed(about, techniques))
