"""The search as it runs: belief, retrieval, decisions, actions and logs."""
