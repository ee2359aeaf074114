"""`python -m maskprior`: the command line."""

from maskprior.cli import main

main()
