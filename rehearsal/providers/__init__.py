"""Offline stand-ins for the `aws`, `eks` and `kubernetes` resource providers, served over gRPC."""
