import pytest
from click.testing import CliRunner

from ops.send_test import send_test


@pytest.mark.parametrize("option", ["--from", "--inbox", "--event-id"])
def test_blank_value_is_refused(option: str) -> None:
    """It would silently become the default, and another mail than the one that was meant."""
    result = CliRunner().invoke(send_test, [option, " "])

    assert result.exit_code == 2
    assert result.stderr.splitlines()[-1].endswith("must not be blank")
