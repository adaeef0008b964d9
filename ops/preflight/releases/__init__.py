"""Whether the versions in the stack file exist, and for how long: node images, Kubernetes, add-ons."""
