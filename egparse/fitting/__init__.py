"""From a configuration to a fitted model: settings, the choice of a learner, the training loop."""
