"""Impulse: Structured (SVD) with the pattern of a 3 x 3 convolution (Zheng et al. 2024, arXiv 2404.01139)."""

from maskprior.methods.structured_svd import METHOD

__all__ = ["METHOD"]
