"""Reports: a run or a predictor as a self-contained HTML page."""

from nmrgcl.report.predictor import write_predictor_page
from nmrgcl.report.run_page import own_page, write_report

__all__ = ["own_page", "write_predictor_page", "write_report"]
