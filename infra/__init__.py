"""The cloud and the cluster. Nothing here imports `serving`."""
