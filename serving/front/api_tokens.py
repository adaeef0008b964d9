"""The bearer tokens that clients of the servers show: a secret of the stack, and the Secret that front proxies read."""

from dataclasses import dataclass

import pulumi
from pulumi_kubernetes.core.v1 import Secret

from infra.section import Complaint, secret_text
from serving.front import TOKENS_KEY
from serving.front.tokens import BadTokenError, token_map
from serving.namespace import ServingNamespace

TOKENS = "apiTokens"
"""The configuration key."""

NAME = "api-tokens"
"""The Secret's."""


def api_tokens(config: pulumi.Config) -> tuple[pulumi.Output[str] | None, list[Complaint]]:
    """Return the file of tokens that nginx reads, None when the stack has none, and what is wrong with them.

    The key holds one token, or several with white space between: the next one beside the one that goes.

    Args:
        config: of the project.
    """
    text, wrong = secret_text(config, TOKENS, "withdraw those tokens and set new ones")
    if text is None:
        return None, wrong
    try:
        return pulumi.Output.secret(token_map(text.split())), []
    except BadTokenError as error:
        return None, [Complaint((config.full_key(TOKENS),), str(error))]


@dataclass(frozen=True, kw_only=True)
class ApiTokensArgs:
    """One set of tokens for all servers of the stack."""

    namespace: ServingNamespace
    tokens: pulumi.Output[str] | None
    """What `api_tokens` returns."""


class ApiTokens(pulumi.ComponentResource):
    """The Secret, when there are tokens. Kubelet brings a new content to running pods, and nginx reloads it."""

    secret: pulumi.Output[str] | None
    """Its name; None without tokens."""

    def __init__(self, name: str, args: ApiTokensArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("vllm-eks:serving:ApiTokens", name, None, opts)
        self.secret = None
        if args.tokens is not None:
            made = Secret(
                name,
                metadata={"name": NAME, "namespace": args.namespace.name},
                string_data={TOKENS_KEY: args.tokens},
                opts=pulumi.ResourceOptions(parent=self, additional_secret_outputs=["data", "stringData"]),
            )
            self.secret = made.metadata.name
        self.register_outputs({"secret": self.secret})
