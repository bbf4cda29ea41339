"""Lambda functions as local processes, and the custom resources that they serve."""
