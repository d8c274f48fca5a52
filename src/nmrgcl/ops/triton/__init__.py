"""Triton kernels, one module per operation; the plain forms and the choice are in the module of the same name above."""
