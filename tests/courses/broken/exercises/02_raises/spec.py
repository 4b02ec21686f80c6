raise RuntimeError("no such thing")
