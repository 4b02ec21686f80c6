"""Kernels for each detector of causes: two or more that show it, two or more near misses.

`kernels/DETECTOR/shown_*.py` and `near_*.py` are kernel files that run on the simulated GPU. Their
first comment names the spec and the case, and the cause if its word is not the detector's; `# here`
marks the line that a report names. `texts.py` and `values.py` have evidence made by hand.
"""
