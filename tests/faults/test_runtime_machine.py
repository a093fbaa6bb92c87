"""The machine of the runtime over long schedules, and many of them."""

import pytest
from hypothesis import settings

from tests.model_machine import SCHEDULES, Rules

pytestmark = pytest.mark.chaos


class LongRules(Rules):
    """The same, for schedules of their own."""


TestRuntimeForLong = LongRules.TestCase
TestRuntimeForLong.settings = settings(SCHEDULES, max_examples=1_000, stateful_step_count=80)
