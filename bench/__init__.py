"""Benches: `make bench` prints all figures in one run."""
