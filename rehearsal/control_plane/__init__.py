"""A real Kubernetes API server with no nodes and no controllers, and what it says about manifests."""
