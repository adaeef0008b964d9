"""Command lines that vLLM must refuse: a check that lets one of them through shows nothing."""

FAULTS: dict[str, tuple[tuple[str, ...], str]] = {
    "an unknown flag": (("/models", "--no-such-flag"), "unrecognized arguments: --no-such-flag"),
    "a flag without its dashes": (("/models", "seed=1"), "unrecognized arguments: seed=1"),
    "a value of another type": (
        ("/models", "--max-num-seqs=many"),
        "argument --max-num-seqs: invalid int value: 'many'",
    ),
    "an abbreviation": (("/models", "--kv-cache-memory=1"), "unrecognized arguments: --kv-cache-memory=1"),
    "flag and value in one item": (("/models", "--seed 1"), "unrecognized arguments: --seed 1"),
    "the model behind a list": (
        ("--served-model-name", "chat", "/models"),
        "`model` should be provided as the first positional argument when using `vllm serve`.",
    ),
    "an unknown key of a configuration": (
        ("/models", '--compilation-config={"level":3}'),
        "Unexpected keyword argument",
    ),
    "loader JSON that is none": (
        ("/models", "--load-format=runai_streamer", "--model-loader-extra-config={concurrency"),
        "Unexpected extra config keys for runai_streamer",
    ),
    "an unknown key of the loader": (
        ("/models", "--load-format=runai_streamer", '--model-loader-extra-config={"concurency":16}'),
        "Unexpected extra config keys for runai_streamer: {'concurency'}",
    ),
    "an unknown load format": (("/models", "--load-format=nonsense"), "unknown --load-format nonsense"),
    "an unknown quantization": (("/models", "--quantization=nonsense"), "Unknown quantization method: nonsense."),
    "an unknown reasoning parser": (
        ("/models", "--reasoning-parser=nonsense"),
        "unknown --reasoning-parser nonsense",
    ),
    "an unknown tool parser": (
        ("/models", "--enable-auto-tool-choice", "--tool-call-parser=nonsense"),
        "invalid tool call parser: nonsense",
    ),
    "more than the GPU's memory": (
        ("/models", "--gpu-memory-utilization=1.5"),
        "Input should be less than or equal to 1",
    ),
}
"""By what is wrong: what follows `vllm serve`, and a part of the refusal."""
