"""Executes beside the submission: untrusted by place, so nothing expected ever enters here."""
