"""What runs on the cluster: vLLM servers, their command lines and pods."""
