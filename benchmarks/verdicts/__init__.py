"""How often `plumbline compare` errs, on runs whose truth is known because they were drawn."""
