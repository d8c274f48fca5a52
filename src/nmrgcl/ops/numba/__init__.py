"""Loops compiled by Numba (extra ``fast``), under the name of their operation; plain forms are in the module above."""
