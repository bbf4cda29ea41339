"""GPU nodes that nobody trains on are scaled to zero, and are back before the next job."""
