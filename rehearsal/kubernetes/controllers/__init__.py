"""What works on the objects: scheduler, nodes, workloads, and a stand-in for the KubeRay operator."""
