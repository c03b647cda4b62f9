"""Running a submission where it can harm nobody: the protocol in `base`, the ways to start the guest beside it."""
