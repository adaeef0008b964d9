"""What this application needs of a platform, checked once: everything behind it is there."""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi

from outputs import Platform, Pods


@dataclass(frozen=True, kw_only=True)
class Needs:
    """One server, and what is around it."""

    url: str
    model: str
    namespace: str
    pods: Pods
    account: str
    cluster_name: str
    bucket: str
    bucket_arn: str
    bucket_key: str | None
    model_prefix: str
    s3_addresses: Sequence[str]


def needs(platform: Platform, name: str, *, token: bool) -> Needs:
    """Return what the server of that name is reached by.

    Args:
        platform: what the platform's stack exports.
        name: of the server.
        token: whether this stack has one to show.

    Raises:
        pulumi.RunError: the platform has no such server, it asks for a token, or the platform is too old to tell.
    """
    if name not in platform.servers:
        served = ", ".join(sorted(platform.servers)) or "nothing"
        raise pulumi.RunError(f'app-team:server: "{name}"; the platform serves {served}')
    server = platform.servers[name]
    pods, model_prefix, account = server.pods, server.model_prefix, platform.account
    bucket_arn, s3_addresses = platform.model_bucket_arn, platform.s3_addresses
    if pods is None or model_prefix is None or account is None or bucket_arn is None or s3_addresses is None:
        raise pulumi.RunError(
            f"app-team:platform: its outputs are of version {platform.outputs_version}, and this program needs 1.1"
        )
    if server.asks_for_token and not token:
        raise pulumi.RunError(f"app-team:token: missing, and {name} asks for one: pulumi config set --secret token")
    return Needs(
        url=server.url,
        model=server.model,
        namespace=platform.namespace,
        pods=pods,
        account=account,
        cluster_name=platform.cluster_name,
        bucket=platform.model_bucket,
        bucket_arn=bucket_arn,
        bucket_key=platform.model_bucket_key,
        model_prefix=model_prefix,
        s3_addresses=s3_addresses,
    )


def shown(config: pulumi.Config) -> pulumi.Output[str] | None:
    """Return the token that the client shows, None when there is none. It is in no manifest but a Secret's.

    Raises:
        pulumi.RunError: it lies in the stack file as plain text.
    """
    key = config.full_key("token")
    token = config.get_secret("token")
    if token is not None and not pulumi.runtime.is_config_secret(key):
        raise pulumi.RunError(f"{key}: stored as plain text; ask for a new one, and set it with --secret")
    # what a pipe or an editor has put behind it is no part of a header
    return token.apply(str.strip) if token is not None else None
