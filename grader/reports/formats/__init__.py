"""What other systems read of graded kernels: one small module for each format.

Each is a pure function of attempts (grader.model.attempts): no clock, no file, no environment.
Texts that a learner may have had a hand in (names, messages, printed lines) are cleaned in `texts`
alone.
"""
