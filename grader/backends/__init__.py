"""Kernel languages, one folder each."""
