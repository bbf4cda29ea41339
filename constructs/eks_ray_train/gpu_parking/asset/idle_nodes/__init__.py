"""The Lambda functions that park the GPU nodes and wake them."""
