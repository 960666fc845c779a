"""What a derivation found: every number and every word that is shown, and the JSON schema."""

from gradcli.report.report import Report
from gradcli.report.rows import Contribution, Gradient, NodeRow, Step, Visit

__all__ = ["Contribution", "Gradient", "NodeRow", "Report", "Step", "Visit"]
