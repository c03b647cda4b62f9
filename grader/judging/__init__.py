"""What a report deserves."""
