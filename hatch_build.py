"""How the package is built: by hatchling, with compiled kernels in the wheel.

A wheel holds the kernels of everyday use, compiled for this operating system and family of
processors, so that nobody waits for a compiler. An editable installation has none: its kernels are
compiled when they are first called. Where the compiler fails, or with ``EGPARSE_BUILD_KERNELS=0``,
the wheel is one for all platforms without compiled kernels.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.build import (
    build_editable as build_editable,
)
from hatchling.build import (
    build_sdist as build_sdist,
)
from hatchling.build import (
    build_wheel as build_wheel,
)
from hatchling.build import (
    get_requires_for_build_editable as get_requires_for_build_editable,
)
from hatchling.build import (
    get_requires_for_build_sdist as get_requires_for_build_sdist,
)
from hatchling.build import (
    get_requires_for_build_wheel as get_requires_for_hatchling,
)
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

COMPILER = ["numba>=0.61", "numpy>=2.0", "msgpack>=1.1", "annotated-types>=0.6", "platformdirs>=4"]
"""What the kernels are compiled with: not needed for an editable installation."""


def get_requires_for_build_wheel(config_settings: dict[str, Any] | None = None) -> list[str]:
    """The packages that a wheel is built with (PEP 517)."""
    return [*get_requires_for_hatchling(config_settings), *(COMPILER if _is_wanted() else [])]


def _is_wanted() -> bool:
    return os.environ.get("EGPARSE_BUILD_KERNELS", "1") != "0"


class KernelBuildHook(BuildHookInterface[Any]):
    """Compiles the kernels and puts them into the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile before the wheel is put together; ``version`` is "editable" or "standard"."""
        if version == "editable" or not _is_wanted():
            return
        self._folder = tempfile.TemporaryDirectory(prefix="egparse-kernels-")
        command = [sys.executable, "-m", "egparse.compilation.compiler.build", self._folder.name]
        paths = os.pathsep.join([self.root, *sys.path])
        # numba must not look for its own caches, nor leave any
        done = subprocess.run(
            command, cwd=self.root, env=os.environ | {"PYTHONPATH": paths}, check=False
        )
        if done.returncode:
            self.app.display_warning("egparse: kernels were not compiled; they will be when called")
            return
        for path in Path(self._folder.name).iterdir():
            build_data["force_include"][str(path)] = f"egparse/compiled/{path.name}"
        build_data["pure_python"] = False
        platform = os.environ.get("EGPARSE_WHEEL_PLATFORM") or sysconfig.get_platform()
        build_data["tag"] = f"py3-none-{platform.replace('-', '_').replace('.', '_')}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the compiled kernels, which the wheel has now."""
        if hasattr(self, "_folder"):
            self._folder.cleanup()


def get_build_hook() -> type[KernelBuildHook]:
    """The hook, for hatchling."""
    return KernelBuildHook
