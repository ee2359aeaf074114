"""Threads and instruction set as in a training job, before any test imports torch."""

from maskprior.runs.environment import pin

pin()
