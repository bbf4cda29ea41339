"""FSDP fine-tuning of a causal language model on Ray Train, as it runs in the container: `python -m training.train`."""
