"""Our end of the sandbox: leads a run, and checks whatever a child says."""
