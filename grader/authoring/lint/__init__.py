"""`grader lint`: what a teacher would look at in a kernel file, found without running it."""
