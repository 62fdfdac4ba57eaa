"""The study around the method: the paper's baselines, data sets, skeletons and experiments."""
