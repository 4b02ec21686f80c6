"""Everything that runs in the untrusted process: load the kernel file, call it, tell."""
