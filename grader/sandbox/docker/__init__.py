"""Guests in containers."""
