"""A memory in the viewers people already have: one file per viewer, behind one seam.

In go frames, the memory after each, and the belief of a search; out comes a live view or a file of that viewer.
Things appear, move and go on its timeline as they do in the memory.
"""
