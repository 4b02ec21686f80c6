"""The untrusted process that loads a kernel file, calls its entry, and reports to the judge."""
