"""Steps that step control has divided, from the records of all formulations."""

from collections.abc import Mapping
from typing import Any

import numpy as np

__all__ = ["has_substeps"]


def has_substeps(record: Mapping[str, Any], rows: int) -> np.ndarray:
    """Whether the step that ends at each row was divided, shape (rows,); False where a formulation records nothing."""
    if "substeps" in record:
        return (np.asarray(record["substeps"]) != 0.0).any(axis=(1, 2))
    return np.asarray(record["divided"]) != 0 if "divided" in record else np.zeros(rows, bool)
