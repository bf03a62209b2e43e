"""A direction in the space of the built-in vectors along which lasting statements about oneself lie.

``benchmarks/fit_statement_score.py`` fits it on English sentences. It serves every language whose vectors are aligned
with the English ones (``text.vectors``): it improved the score on five sets of Chinese scenarios, without a fit on any.
"""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DIRECTION_FILE = Path(__file__).parent / "data" / "statement_direction.json"


@lru_cache(maxsize=1)
def statement_direction() -> NDArray[np.float32]:
    """Load the direction, [DIMENSIONS]: its product with a sentence's unit vector is part of the log odds."""
    import numpy as np

    return np.array(json.loads(DIRECTION_FILE.read_text(encoding="utf-8")), np.float32)
