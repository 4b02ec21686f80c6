"""`grader doctor`: the parts of this machine that work, the others, and the fix for each."""
