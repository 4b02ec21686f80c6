"""The entry is a number."""

copy = 3
