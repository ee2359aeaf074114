"""Reproducibility artifact for "Mask-Based Priors Are More Persistent than Query-Key Initializations"."""
