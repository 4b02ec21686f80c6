"""The steps of a check, one file each."""
