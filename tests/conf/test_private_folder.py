"""Folders that Plumbline creates for telemetry are their user's alone."""

import pytest

from conf.private_folder import make_private
from engine.delta import tables
from engine.process.lease import lease
from schemas.silver.topics import TOPICS


def mode(folder):
    return folder.stat().st_mode & 0o777


def test_a_new_folder_is_private_and_one_that_is_there_keeps_its_permissions(tmp_path):
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o750)

    make_private(shared)
    make_private(shared / "new" / "root")

    assert (mode(shared), mode(shared / "new" / "root")) == (0o750, 0o700)


@pytest.mark.parametrize("create", ["table", "lease"])
def test_a_warehouse(tmp_path, create):
    root = tmp_path / "warehouse"
    if create == "table":
        tables.make(root, TOPICS)
    else:
        with lease(root, "silver", timeout_s=1):
            pass

    assert mode(root) == 0o700
