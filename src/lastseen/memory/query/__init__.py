"""Answering a query: which objects may answer, how well each fits, and whether the best deserves to be believed.

A ``Finder`` takes a ``Query`` (words, or an embedding) and a ``Filter`` (place, time, label, state) and gives an
``Answer``: found, ambiguous or not found, with the reason and the k best objects. The rules: docs/search.md.
"""
