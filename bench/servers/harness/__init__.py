"""Real servers under several allocators: what scripts/bench-servers runs."""
