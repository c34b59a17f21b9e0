"""What pyproject.toml cannot say: the folder `cluster` is installed as the package `nar.cluster`.

In a checkout the jobs are `python -m cluster.embed`. Under that name a wheel would put a package
called `cluster` into everybody's site-packages. Its modules import each other by relative names, so
that they work under both.
"""

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py


class BuildWithJobs(build_py):
    """Builds the packages, and the jobs below `nar`; an editable install needs no copy."""

    def run(self) -> None:
        """Copy everything into the folder of the build."""
        super().run()
        if not self.editable_mode:
            for module in sorted(Path("cluster").glob("*.py")):
                target = Path(self.build_lib, "nar", "cluster", module.name)
                target.parent.mkdir(parents=True, exist_ok=True)
                self.copy_file(str(module), str(target))


setup(cmdclass={"build_py": BuildWithJobs})
