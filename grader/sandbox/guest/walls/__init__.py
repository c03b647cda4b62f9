"""What a child gives up before it meets a submission: the security review, on one shelf."""
