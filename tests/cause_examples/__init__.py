"""Kernels for each detector of causes: at least two that show it, and two on which it is silent.

A file in here defines `SHOWN` or `SILENT`, which map a title to what a test looks at; both begin
with the name of the detector, that of its file in `grader/correctness/causes/`. Adding a file adds
its examples.
"""
