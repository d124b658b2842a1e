"""Nothing here needs Spark: the settings that the tests of its plans want are left out."""

import pytest


@pytest.fixture(autouse=True)
def _interpreted():
    """Take the place of the fixture that starts a session."""
