"""Spark plans of the parsers are large and the tests' rows few: they run without being compiled."""

import pytest


@pytest.fixture(autouse=True)
def _interpreted(spark):
    settings = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
    before = {key: spark.conf.get(key) for key in settings}
    for key, value in settings.items():
        spark.conf.set(key, value)
    yield
    for key, value in before.items():
        spark.conf.set(key, value)
