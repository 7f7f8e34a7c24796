"""Putting furniture (``Furnisher``) and small things (``Clutterer``) into the rooms of a floor plan."""
