"""Predict properties of molecules with an ensemble of fine-tuned encoders."""
