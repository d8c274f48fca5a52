"""A run as one HTML page that needs nothing else: no network, no script."""

from nmrgcl.report.page import own_page, write_report
from nmrgcl.report.predictor import write_predictor_page

__all__ = ["own_page", "write_predictor_page", "write_report"]
