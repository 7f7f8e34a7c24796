"""Habitat: a worker in the user's Habitat environment, searched by our loop and judged by Habitat's own measures.

Only ``worker.py`` runs there; it uses nothing of lastseen, and nothing else here imports habitat-lab.
"""
