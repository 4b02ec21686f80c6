"""`grader lint`: places in a kernel file that a teacher should read, found without running it."""
