"""How fast the nodes' root volumes are."""

# The image unpacks to about 20 GB, mostly in parallel: at gp3's base of 125 MiB/s that takes minutes more.
GP3_THROUGHPUT_MIB = 500
GP3_IOPS = 6000
