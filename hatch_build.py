"""How the package is built: by hatchling, with compiled kernels in the wheel.

A wheel holds the kernels of everyday use, compiled for this operating system and processor, so
that nobody waits for a compiler. ``EGPARSE_BUILD_KERNELS=all`` compiles for less capable processors
of the family as well, for wheels that are given to others. With ``EGPARSE_BUILD_KERNELS=none``, or
where the compiler fails, the wheel is one for all platforms, without compiled kernels. An editable
installation has none either: its kernels are compiled when they are first called.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tempfile
import tomllib
from itertools import chain
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

COMPILER = ["numba>=0.62", "numpy>=2.0", "msgpack>=1.1", "annotated-types>=0.6", "platformdirs>=4"]
"""What the kernels are compiled with: not needed for an editable installation."""


def get_requires_for_build_wheel(config_settings: dict[str, Any] | None = None) -> list[str]:
    """The packages that a wheel is built with (PEP 517)."""
    return [
        *get_requires_for_hatchling(config_settings),
        *(COMPILER if _extent() != "none" else []),
    ]


def prepare_metadata_for_build_wheel(
    metadata_directory: str, config_settings: dict[str, Any] | None = None
) -> str:
    """Write the metadata of the wheel (PEP 517), for which nothing is compiled.

    hatchling has this function, but not where pip calls it, as a hook may change what it writes;
    pip would build the whole wheel instead, and compile while it says that it prepares metadata.
    The hook below changes none of it.
    """
    from hatchling.builders.wheel import WheelBuilder

    builder = WheelBuilder(os.getcwd())
    folder = Path(metadata_directory, f"{builder.artifact_project_id}.dist-info")
    folder.mkdir(exist_ok=True)
    metadata = builder.config.core_metadata_constructor(builder.metadata)
    folder.joinpath("METADATA").write_text(metadata, encoding="utf-8")
    return folder.name


def _extent() -> str:
    """For which processors to compile: here, all or none."""
    extent = os.environ.get("EGPARSE_BUILD_KERNELS", "here")
    if extent not in ("here", "all", "none"):
        raise SystemExit(f"EGPARSE_BUILD_KERNELS: expected here, all or none, got {extent!r}")
    return extent


class KernelBuildHook(BuildHookInterface[Any]):
    """Compiles the kernels and puts them into the wheel, and with them the models that
    ``models/recipes.toml`` names for it; the others are downloaded.
    """

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile before the wheel is put together; ``version`` is "editable" or "standard"."""
        if version == "editable":
            return
        for path in self._models():
            build_data["force_include"][str(path)] = f"egparse/models_data/{path.name}"
        if _extent() == "none":
            return
        self._folder = tempfile.TemporaryDirectory(prefix="egparse-kernels-")
        module = "egparse.compilation.compiler.build"
        command = [sys.executable, "-m", module, self._folder.name, _extent()]
        environment = {
            "PYTHONPATH": os.pathsep.join([self.root, *sys.path]),
            # of messages that nobody sees: a twentieth of numba's time
            "NUMBA_DISABLE_ERROR_MESSAGE_HIGHLIGHTING": "1",
        }
        done = subprocess.run(command, cwd=self.root, env=os.environ | environment, check=False)
        if done.returncode:
            self.app.display_warning("egparse: kernels were not compiled; they will be when called")
            return
        for path in Path(self._folder.name).iterdir():
            build_data["force_include"][str(path)] = f"egparse/compiled/{path.name}"
        build_data["pure_python"] = False
        platform = os.environ.get("EGPARSE_WHEEL_PLATFORM") or sysconfig.get_platform()
        build_data["tag"] = f"py3-none-{platform.replace('-', '_').replace('.', '_')}"

    def _models(self) -> list[Path]:
        folder = Path(self.root, "models")
        recipes = folder / "recipes.toml"
        chosen = tomllib.loads(recipes.read_text(encoding="utf-8"))["wheel"]
        beside = (sorted(folder.glob(f"{name}.*")) for name in chosen)
        return [recipes, folder / "README.md", *chain.from_iterable(beside)]

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the compiled kernels, which the wheel has now."""
        if hasattr(self, "_folder"):
            self._folder.cleanup()


def get_build_hook() -> type[KernelBuildHook]:
    """The hook, for hatchling."""
    return KernelBuildHook
