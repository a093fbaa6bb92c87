"""How often Python looks for garbage.

A batch makes and drops a hundred thousand objects, nearly none of them in a cycle.

Owns: the collector's settings, for the whole process.
May not: turn it off: tracebacks and tasks do make cycles.
"""

import gc
from typing import Final

# A batch's own objects; twenty of those to an older generation. By default the collector ran a
# hundred times a batch and went through all modules once: an eighth of a record's cost.
THRESHOLDS: Final = (20_000, 20, 50)


def collect_seldom() -> None:
    """Leave what was loaded by now out of every collection, and collect seldom."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
