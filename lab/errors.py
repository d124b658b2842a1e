"""The one error of this room: its message names what happened and the way out."""


class LabError(Exception):
    """Something about the lab that its user can act on."""
