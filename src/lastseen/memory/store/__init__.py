"""What outlives the process: the journal (the truth, on disk) and the vector indexes (rebuilt from it)."""
