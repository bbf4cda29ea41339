"""What EC2 gives with each instance type: GPU counts, interfaces, pods' sizes, quotas and prices all derive from here.

`python -m eks_ray_train.instance_types` prints the table.
"""

from eks_ray_train.instance_types.model import Gpu, InstanceType, NetworkInterface
from eks_ray_train.instance_types.table import read_table
from eks_ray_train.instance_types.worker_size import WorkerSize, worker_size

INSTANCE_TYPES = read_table()

__all__ = ["INSTANCE_TYPES", "Gpu", "InstanceType", "NetworkInterface", "WorkerSize", "worker_size"]
