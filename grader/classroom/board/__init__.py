"""The leaderboard: from result files to ranks. What it looks like is render/board.py."""
