"""Weights of other people's models: which are known, where they lie, how they are fetched and checked."""
