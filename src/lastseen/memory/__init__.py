"""What the robot remembers. Frames with what was seen in them go in through ``Memory.observe``.

Objects, places, explored floor and viewpoints come out, and answers to questions about them; all of it is kept in one
file that a later run, or another program, opens again.
"""
