"""Puts compiled kernels into the wheel that is being built, where LEASTACTION_KERNELS names a folder of them."""

import os
import sys
import sysconfig
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class KernelsHook(BuildHookInterface):
    """Without such a folder, as in any other build, the wheel is one for all platforms."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Name the folder as a part of the package, and what the wheel is for."""
        folder = os.environ.get("LEASTACTION_KERNELS")
        if not folder or version != "standard":  # an editable installation has sources to compile
            return
        python = f"cp{sys.version_info[0]}{sys.version_info[1]}"
        # What a container for wheels says that it is: nothing in them is linked to libraries of its own.
        platform = os.environ.get("AUDITWHEEL_PLAT") or sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["force_include"][folder] = "leastaction/_kernels"
        build_data["pure_python"] = False
        # No ABI: nothing in it is loaded by the interpreter.
        build_data["tag"] = f"{python}-none-{platform}"
