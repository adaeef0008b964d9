"""What lies where in the bucket. Each ends with a slash, as all prefixes here do."""

MODELS = "models/"
"""Every model lies below `models/<name>/<revision>/`."""

CACHES = "vllm-cache/"
"""Every start-up cache lies below it, and none below a model: the loader would take it for tokenizer files (vllm.md
A14)."""

MANIFEST = "manifest.json"
"""In each folder of a cache: what makes its archive valid (`serving/scripts/restore/manifest.py`)."""

DATASETS = "datasets/"
"""What application teams evaluate with. No identity of the stack reads or writes it."""
