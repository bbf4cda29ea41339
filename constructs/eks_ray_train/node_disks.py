"""How fast the nodes' root volumes are."""

# The image unpacks to about 20 GB, mostly in parallel: at gp3's base of 125 MiB/s that takes minutes more. It is the
# system nodes that need it, for on GPU nodes the image lies on NVMe disks.
GP3_THROUGHPUT_MIB = 500
GP3_IOPS = 6000
