"""A run as one HTML page that needs nothing else: no network, no script."""

from nmrgcl.report.page import write_report

__all__ = ["write_report"]
