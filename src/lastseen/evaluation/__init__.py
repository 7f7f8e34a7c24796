"""Does memory help, and by how much: episodes, arms, metrics and an honest report."""
