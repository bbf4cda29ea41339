"""``raytrain deploy``: capacity first, one priced question, then the CDK command line, zone after zone."""
