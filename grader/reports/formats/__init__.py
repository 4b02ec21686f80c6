"""Formats that other systems read: one small module each.

Each is a pure function of attempts (grader.model.attempts): no clock, no file, no environment. Only
`texts` cleans texts that a learner may have influenced (names, messages, printed lines).
"""
