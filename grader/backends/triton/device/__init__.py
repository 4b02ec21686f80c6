"""The simulated GPU for Triton: a process of the judge's that executes TTIR on arrays."""
