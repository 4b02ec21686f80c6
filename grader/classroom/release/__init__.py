"""The students' repository: made from the course, proven free of solutions, brought up to date."""
