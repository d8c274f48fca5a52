"""Run the command line as ``python -m nmrgcl``."""

from nmrgcl.cli import main

main()
