"""Data in the messages of ROS 1 and ROS 2: bags, MCAP files and live topics, without a ROS installation."""
