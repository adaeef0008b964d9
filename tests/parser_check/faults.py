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
    "the engine: no graph sizes": (("/models", "--max-cudagraph-capture-size=0"), "Maximum cudagraph size should be"),
    "the engine: prefixes of nothing": (("/models", "--prefix-match-unit=0"), "Input should be greater than 0"),
    "the engine: NUMA nodes without NUMA binding": (
        ("/models", "--numa-bind-nodes", "0"),
        "numa_bind_nodes and numa_bind_cpus require numa_bind=True.",
    ),
    "the engine: traces that go nowhere": (
        ("/models", "--collect-detailed-traces", "all"),
        "collect_detailed_traces requires `--otlp-traces-endpoint` to be set.",
    ),
    "the engine: fewer adapters in host memory": (
        ("/models", "--enable-lora", "--max-loras=4", "--max-cpu-loras=2"),
        "max_cpu_loras (2) must be >= max_loras (4).",
    ),
    "the engine: a prompt longer than a batch": (
        ("/models", "--no-enable-chunked-prefill", "--max-model-len=8192", "--max-num-batched-tokens=4096"),
        "max_num_batched_tokens (4096) is smaller than max_model_len (8192).",
    ),
    "the engine: a connector without a role": (
        ("/models", '--kv-transfer-config={"kv_connector":"LMCacheConnectorV1"}'),
        "Please specify kv_role when kv_connector is set",
    ),
    "the engine: a role without a connector": (
        ("/models", '--kv-transfer-config={"kv_role":"kv_both"}'),
        "Connector name is not set in KVTransferConfig",
    ),
    "the engine: drafts without a model": (("/models", "--spec-tokens=3"), "without speculative model."),
    "the engine: drafts of no length": (
        ("/models", '--speculative-config={"method":"ngram"}'),
        "num_speculative_tokens must be provided with speculative model",
    ),
    "the engine: a method named twice": (
        ("/models", "--spec-method=ngram", '--speculative-config={"method":"ngram"}'),
        "--spec-method and --speculative-config['method'] are mutually exclusive",
    ),
    "the engine: an unknown mode": (
        ("/models", '--compilation-config={"mode":4}'),
        "Input should be 0, 1, 2 or 3",
    ),
    "the engine: an unknown mode of graphs": (("/models", '--compilation-config={"cudagraph_mode":"ALL"}'), "'ALL'"),
    "the engine: an unknown attention backend": (
        ("/models", '--attention-config={"backend":"NONSENSE"}'),
        "Unknown attention backend: 'NONSENSE'.",
    ),
}
"""By what is wrong: what follows `vllm serve`, and a part of the refusal."""
