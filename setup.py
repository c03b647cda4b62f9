"""Building a wheel builds the page first, so that the wheel holds it. Everything else is in pyproject.toml."""

import subprocess
import sys

from setuptools import setup
from setuptools.command.build_py import build_py


class BuildWithPage(build_py):
    """An editable installation leaves the page to `make setup`, which can do without it."""

    def run(self) -> None:
        """Builds."""
        if not self.editable_mode:
            subprocess.run([sys.executable, "web/build.py"], check=True)
        super().run()


setup(cmdclass={"build_py": BuildWithPage})
