"""What becomes of a resource: told apart, updated or replaced, made, refused. Plain values, no gRPC."""
