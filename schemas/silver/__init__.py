"""Schemas of the silver tables: typed rows. Each row is a pure function of one bronze row."""

from schemas.declared import declared

SILVER = declared(__name__, __path__, "silver")
"""The tables of a warehouse."""
