"""A memory as a citizen of ROS 2: topics in, objects, markers, floor, services and the search action out.

What is published, and what a call answers, are plain values made from ``Memory`` (``publications``, ``calls``); rclpy
and Zenoh only carry them (``sources.ros.transport``). ``driving`` moves a robot on the graph for a search.
"""
