"""From a record to rows of silver: one module or package per source, each a pure function of one record."""
