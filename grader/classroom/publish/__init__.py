"""`grader solutions publish`: model solutions, explained and measured, as a folder."""
