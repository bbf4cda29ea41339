"""``raytrain capacity``: where EC2 may have room, before anything exists."""
