"""Homes to see, move and search in, from pip alone: no GPU, no GL, no download."""
