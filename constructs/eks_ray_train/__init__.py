"""Constructs for a private, EFA-connected GPU training cluster on Amazon EKS."""
