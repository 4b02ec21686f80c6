"""`grader solutions publish`: model solutions with what is told of them, as a folder."""
