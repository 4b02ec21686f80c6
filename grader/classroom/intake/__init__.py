"""A class's roster and a pile of submissions become one record for each student."""
