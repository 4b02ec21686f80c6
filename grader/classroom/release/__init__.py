"""The students' repository: made from the course, proven free of solutions, kept up to date."""
