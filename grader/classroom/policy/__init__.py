"""Grades of a class: a class run, the course's rules for grading, and an instructor's changes."""
