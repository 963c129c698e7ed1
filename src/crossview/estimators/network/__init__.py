"""Feed-forward networks on several views."""
