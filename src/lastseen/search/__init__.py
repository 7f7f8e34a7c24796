"""The search: a goal and a robot go in; the robot walks there, from memory first, and remembers on the way.

``search.Search`` puts it together; ``loop`` is one step after the other, ``recall`` what memory offers, ``planning``
who decides, ``policy`` who walks, ``robot_world`` where both meet a robot.
"""
