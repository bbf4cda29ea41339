"""Where a region has room for a group of GPU instances: questions to EC2, a ranking, and a reservation as proof."""
