"""Grade PyTorch coding challenges: run untrusted code in a sandbox, judge what comes back, teach."""
