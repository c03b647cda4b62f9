"""`python -m grader.sandbox.guest`: see zygote."""

from grader.sandbox.guest.zygote import main

if __name__ == "__main__":
    main()
