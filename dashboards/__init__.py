"""Writes dashboards, alert rules and their document: `python -m dashboards.build`."""
