"""Where the robot has been and what it can go to again: explored floor, viewpoints of objects, the newest pose.

Frames with poses go in; free and occupied floor, and for each object a few spots from which it was seen, come out.
All of it lives in the memory file, so that a later search needs the file and nothing else.
"""
