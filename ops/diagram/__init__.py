"""The architecture of a stack as a picture, from the resources of its preview."""
