"""A small CloudFormation: templates, order, update, rollback, deletion, exports."""
