"""What stands before an engine: nginx, which asks for the token and forwards two hands full of paths, and the agent.

The engine listens on loopback then, on a port of its own. With `--api-key` alone vLLM leaves /tokenize, /invocations
(which runs completions), /metrics and more open, and in development mode everything that `sleep` needs (gpu.md 0.8, 9).
"""

IMAGE = "public.ecr.aws/nginx/nginx-unprivileged:1.29.1-alpine3.22"
"""Upstream; nodes pull what the image cache makes of it. It runs as uid 101 and was not run here: the configuration is
tested on Debian's nginx 1.22, and says itself whatever newer versions do by default (1.29.7 keeps upstream connections
alive)."""

USER = 101
"""Of that image (its Dockerfile)."""

ENGINE_PORT = 8001
GATE_PORT = 8002
"""TCP for nginx's questions, UDP for its log."""
CONTROL_PORT = 8003
LOOPBACK = "127.0.0.1"

FOLDER = "/run/front"
"""nginx's own writable place: pid, inner socket, bodies."""
CONFIG_FOLDER = "/etc/front"
TOKENS_FOLDER = "/etc/front-tokens"
TOKENS_KEY = "tokens.map"
"""The Secret's key with the text that `tokens.token_map` makes."""
TOKENS_FILE = f"{TOKENS_FOLDER}/{TOKENS_KEY}"

AGENT_FOLDER = "/run/agent"
"""The agent's writable place."""
VERDICT = f"{AGENT_FOLDER}/unwakeable"
"""The file by which it tells the engine's liveness probe that the engine does not wake."""

READY_PATH = "/ready"
METRICS_PATH = "/agent/metrics"
ALIVE_PATH = "/front/alive"
"""nginx's word about itself."""

AWAKE_LABEL = "awake"
"""Of a server with `wake: external`: what Services select. The pod template carries it, so that a new pod needs no
history; the agent takes it away and gives it back."""
WANTED_ANNOTATION = "vllm-eks/wanted"
"""Of its pods: `awake` or `asleep`, patched by whoever decides (CronJobs, controllers)."""
