"""Training, continuing and tuning all tasks of a model."""
