"""The EKS cluster: control plane, add-ons before and after the first nodes, and those nodes."""
