"""From frames to observations: which frames to process, what is in them, how it looks and what it is called.

A frame goes in; out come observations with position, extent, image embedding and, where a model gives them, labels.
``pipeline.Perception`` is the whole of it; its parts can be replaced by anything that fits ``lastseen.protocols``.
"""
