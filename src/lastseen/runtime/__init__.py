"""Documented entry points of the memory-guided search: ``loop`` and ``memory_bridge``; see ``lastseen.search``."""
