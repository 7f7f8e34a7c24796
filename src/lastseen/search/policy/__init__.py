"""From a direction to actions: the goal pixel, the pixel policy that walks there, and the check of a stop."""
