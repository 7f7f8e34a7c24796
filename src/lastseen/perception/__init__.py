"""From images to observations: what is in a frame, and where in the world it is."""
