"""What a fit of many samples on a cluster would cost: measured, counted and simulated."""
