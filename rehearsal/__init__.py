"""Runs what `cdk synth` emits on one machine, without AWS. See README.md beside this file."""
