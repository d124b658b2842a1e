"""Schemas of the gold tables: plain Delta (reader version 1), 10 s windows, additive histograms."""

from schemas.declared import declared

ALL = declared(__name__, __path__, "gold")
"""All tables, also those that are computed on read."""

GOLD = tuple(table for table in ALL if table.is_stored)
"""The tables of a warehouse."""
