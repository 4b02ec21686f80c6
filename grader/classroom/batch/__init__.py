"""A class is graded: units of work, their results in a folder, and the lanes that grade them."""
