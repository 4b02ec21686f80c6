"""The leaderboard: from result files to ranks. `grader.reports.board` draws its pages."""
