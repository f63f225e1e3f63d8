r"""Softmax regression on images, with a nonconvex regulariser.

f^(k)(W, w) = mean_i [log sum_c exp(z_c) - z_{y_i}] + alpha sum_j x_j^2/(1 + x_j^2),  z = W a_i + w

over worker k's own images a_i. x holds W (10 rows) and then w. The loss is convex; the regulariser
(alpha = 0.01) bends down beyond |x_j| = 1/sqrt 3, as far as -alpha/2. Its curvature is at most 2
alpha. By hand:

    dz = softmax(z) - onehot(y),   dW = dz a',   dw = dz,   and 2 alpha x/(1 + x^2)^2

L, sigma and zeta depend on the images; they are estimated from below, never proved.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from stemtheory.images import ImageFamily, Network, affine, affine_gradient, cross_entropy_gradient


@dataclass(frozen=True)
class Softmax:
    """z = W a + w."""

    pixels: int
    classes: int = 10
    chunk: int = 64

    @property
    def shapes(self) -> Sequence[tuple[int, ...]]:
        """W and w."""
        return [(self.classes, self.pixels), (self.classes,)]

    def inputs(self, images: Any) -> Any:
        """Return the pixels in one column per sample: [n, pixels, B]."""
        return images.reshape(len(images), self.pixels, images.shape[-1])

    def logits(self, weights: list[Any], inputs: Any) -> Any:
        """Return W a + w."""
        W, w = weights
        return affine(W, w, inputs)

    def gradient(self, weights: list[Any], inputs: Any, labels: Any, into: list[Any]) -> None:
        """Write dW = dz a' and dw = sum dz."""
        dz = cross_entropy_gradient(self.logits(weights, inputs), labels)
        affine_gradient(dz, inputs, (into[0], into[1]))


def make(shape: tuple[int, int, int]) -> Network:
    """Return the network for images of this shape."""
    return Softmax(math.prod(shape))


ENTRY = ImageFamily(
    name="softmax_regression",
    summary="softmax regression on real images, with a nonconvex regulariser",
    formula=(
        r"f^{(k)}(x) = \frac{1}{n} \sum_i \left[\log \sum_c e^{z_c} - z_{y_i}\right]"
        r" + \alpha \sum_j \frac{x_j^2}{1 + x_j^2}, \quad z = W a_i + w"
    ),
    network=make,
    defaults={"alpha": 0.01},
    visible="Whether momentum still lowers the noise floor where the samples are real images.",
)
