"""A trained model as one file for other programs: torch.export, or ONNX."""

from nmrgcl.export.file import FORMATS, Exported, export_model

__all__ = ["FORMATS", "Exported", "export_model"]
