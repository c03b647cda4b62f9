"""The HTTP service: API, queue, workers and database. Imports grader, never the reverse; the API imports no torch."""
