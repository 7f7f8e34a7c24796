"""A phone as a camera, without an app: a page in its browser that sends image, depth and pose over a socket."""
