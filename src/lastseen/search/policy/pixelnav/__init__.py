"""PixelNav's learned policy: a network that sees the goal pixel once, then the views since, and names an action.

It has the contract of the geometric policy and takes its place where a trained checkpoint is at hand.
"""
