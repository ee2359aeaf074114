import pytest
import torch
from torch import nn

from maskprior.attention import Attention, query_key_products
from maskprior.initialization.mimetic import write_mimetic_query_key, write_mimetic_value_out


def layer(dim: int, heads: int, head_dim: int) -> Attention:
    return Attention(dim, heads=heads, head_dim=head_dim, tokens=4)


def value_out_product(module: Attention) -> torch.Tensor:
    return module.value.weight.T @ module.out.weight.T


@pytest.mark.parametrize("head_dim", [24, 9])
def test_without_noise_query_key_is_the_scaled_identity_of_the_heads_rank(head_dim: int) -> None:
    module = layer(24, heads=3, head_dim=head_dim)
    write_mimetic_query_key(module, identity=0.7, noise=0.0, generator=torch.Generator())
    products = query_key_products(module)
    # All singular values of 0.7 I are 0.7, and a product of the form a U U^T has trace a rank.
    torch.testing.assert_close(torch.linalg.matrix_norm(products) ** 2, torch.full((3,), 0.49 * head_dim))
    torch.testing.assert_close(products.diagonal(dim1=1, dim2=2).sum(1), torch.full((3,), 0.7 * head_dim))


def test_query_key_is_close_to_the_identity_plus_unit_noise() -> None:
    module = layer(64, heads=2, head_dim=64)
    write_mimetic_query_key(module, identity=0.7, noise=0.7, generator=torch.Generator().manual_seed(0))
    for product in query_key_products(module):
        noise = (product - 0.7 * torch.eye(64)) / 0.7
        # Uniform in +-sqrt(3/D): variance 1/D, and nothing outside.
        assert noise.abs().max() <= (3 / 64) ** 0.5 + 1e-5
        assert noise.var().item() == pytest.approx(1 / 64, rel=0.1)


def test_heads_and_layers_draw_their_own_noise() -> None:
    model = nn.Sequential(layer(16, heads=2, head_dim=16), layer(16, heads=2, head_dim=16))
    write_mimetic_query_key(model, identity=0.7, noise=0.7, generator=torch.Generator().manual_seed(0))
    products = torch.cat([query_key_products(module) for module in model])
    for i in range(4):
        for j in range(i):
            assert (products[i] - products[j]).norm() > 1


def test_value_and_projection_together_are_minus_the_identity() -> None:
    module = layer(24, heads=3, head_dim=8)
    write_mimetic_value_out(module, identity=0.4, noise=0.0, generator=torch.Generator())
    torch.testing.assert_close(value_out_product(module), -0.4 * torch.eye(24))


def test_narrower_heads_keep_the_best_approximation() -> None:
    torch.manual_seed(0)
    module = layer(24, heads=2, head_dim=10)
    write_mimetic_value_out(module, identity=0.4, noise=0.4, generator=torch.Generator().manual_seed(3))
    full = layer(24, heads=2, head_dim=12)
    write_mimetic_value_out(full, identity=0.4, noise=0.4, generator=torch.Generator().manual_seed(3))
    u, s, vh = torch.linalg.svd(value_out_product(full))
    torch.testing.assert_close(value_out_product(module), (u[:, :20] * s[:20]) @ vh[:20], atol=1e-5, rtol=1e-5)
