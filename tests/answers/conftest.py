"""One made warehouse for all tests of answers."""

import pytest

from answers.gold.reader import GoldReader
from answers.gold.selection import GoldSelection
from tests.answers import made_gold


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    return GoldReader.of_warehouse(made_gold.warehouse(tmp_path_factory.mktemp("answers") / "warehouse"))


@pytest.fixture
def east(made):
    return GoldSelection(gold=made, cluster="east")


@pytest.fixture
def west(made):
    return GoldSelection(gold=made, cluster="west")
