"""The settings of a command that answers from a warehouse."""

from pathlib import Path

from conf.exit_codes import WrongUseError
from conf.settings import Settings
from conf.warehouse_format import check_format


def settings_of(conf: list[Path]) -> Settings:
    """
    Read the settings of a warehouse that is there.

    Raises:
        WrongUseError: they are wrong, no warehouse is where they say, or a newer Plumbline has written it.

    """
    try:
        settings = Settings.load(*conf)
    except (OSError, ValueError) as error:
        hint = "" if conf else "; give a settings file, as in --conf my.toml"
        message = f"{error}{hint}"
        raise WrongUseError(message) from error
    root = settings.warehouse_root
    if not root.is_dir():
        message = (
            f"no warehouse at {root}, which [warehouse] root names: run the ingest, or correct the setting"
        )
        raise WrongUseError(message)
    check_format(root)
    return settings
