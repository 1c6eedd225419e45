"""Optional dependencies: imported where they are used, and missed with a helpful message."""

from importlib import import_module
from types import ModuleType

from leastaction.errors import MissingExtraError

__all__ = ["require"]


def require(module_name: str, extra: str) -> ModuleType:
    """Import and return an optional module.

    Args:
        module_name: dotted name of the module, e.g. `"daqp"` or `"matplotlib.pyplot"`.
        extra: the extra of this package that installs it, e.g. `"qp"`.

    Raises:
        MissingExtraError: the module is not installed. A module that is installed but fails to import
            raises its own error instead, since installing the extra again would not help.
    """
    try:
        return import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            raise
        message = f'{error.name} is not installed. Type: pip install "leastaction[{extra}]"'
        raise MissingExtraError(message, name=error.name, extra=extra) from None
