"""What a learner reads."""
