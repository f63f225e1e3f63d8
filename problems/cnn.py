r"""Convolutional networks: the paper's two architectures and a small one, gradients by hand.

f^(k) is the mean cross entropy over worker k's own images. Two convolutions (stride 1, no padding),
each followed by max pooling over 2 x 2 and max(., 0), then linear layers with max(., 0) between:

    name    convolutions      linear layers     inputs       P
    mnist   10, 20 of 5 x 5   50, 10            1 x 28 x 28  21,840
    cifar   6, 16 of 5 x 5    120, 84, 10       3 x 32 x 32  62,006
    small   8, 16 of 3 x 3    32, 10            1 x 14 x 14  3,658

The paper says how many layers there are, not how wide: the widths are the usual ones and an
assumption. ``layers`` (small) names one; any image large enough will do. L, sigma and zeta are
estimated from below, never proved; f is not smooth where a maximum changes hands.

Paper: sec: Experiments.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from stemtheory.images import (
    ImageFamily,
    Network,
    Pooled,
    affine,
    affine_gradient,
    col2im,
    cross_entropy_gradient,
    im2col,
    pool,
    pool_gradient,
)
from stemtheory.runtime import UsageError, choice


class Widths(NamedTuple):
    """Channels of the two convolutions, their side, and the outputs of the linear layers."""

    channels: tuple[int, int]
    side: int
    linear: tuple[int, ...]


ARCHITECTURES = {
    "mnist": Widths((10, 20), 5, (50, 10)),
    "cifar": Widths((6, 16), 5, (120, 84, 10)),
    "small": Widths((8, 16), 3, (32, 10)),
}


class Inputs(NamedTuple):
    """The columns of the first convolution [n, C side^2, H' W' B], and H', W', B."""

    columns: Any
    size: tuple[int, int, int]


class Pass(NamedTuple):
    """What the way back needs: pooled maps, the second columns, and every linear layer's input."""

    first: Pooled
    second: Pooled
    hidden: Any
    columns: Any
    inputs: list[Any]
    logits: Any


@dataclass(frozen=True)
class ConvolutionalNetwork:
    """conv - pool - relu, twice, then linear layers."""

    image: tuple[int, int, int]
    widths: Widths
    chunk: int = 5

    @property
    def flat(self) -> int:
        """How many numbers the second pooling leaves."""
        _, H, W = self.image
        side = self.widths.side
        h, w = (((n - side + 1) // 2 - side + 1) // 2 for n in (H, W))
        return self.widths.channels[1] * max(h, 0) * max(w, 0)

    @property
    def shapes(self) -> Sequence[tuple[int, ...]]:
        """Weights and bias of the two convolutions, then of the linear layers."""
        (one, two), square = self.widths.channels, self.widths.side**2
        sizes = [(one, self.image[0] * square), (two, one * square)]
        ins = (self.flat, *self.widths.linear)
        sizes += [(out, into) for into, out in zip(ins, self.widths.linear, strict=False)]
        return [shape for size in sizes for shape in (size, size[:1])]

    def inputs(self, images: Any) -> Inputs:
        """Return the columns of the first convolution, which do not depend on the weights."""
        _, _, H, W, B = images.shape
        side = self.widths.side
        return Inputs(im2col(images, side), (H - side + 1, W - side + 1, B))

    def logits(self, weights: list[Any], inputs: Inputs) -> Any:
        """Return the logits."""
        return self._forward(weights, inputs).logits

    def _forward(self, weights: list[Any], inputs: Inputs) -> Pass:
        n, side = len(inputs.columns), self.widths.side
        one = affine(weights[0], weights[1], inputs.columns)
        first = pool(one.reshape(n, -1, *inputs.size))
        hidden = np.maximum(first.largest, 0)
        columns = im2col(hidden, side)
        h, w, B = hidden.shape[2] - side + 1, hidden.shape[3] - side + 1, hidden.shape[4]
        two = affine(weights[2], weights[3], columns)
        second = pool(two.reshape(n, -1, h, w, B))
        a = np.maximum(second.largest, 0).reshape(n, -1, B)
        passed = [a]
        for W, bias in zip(weights[4:-2:2], weights[5:-2:2], strict=True):
            passed.append(np.maximum(affine(W, bias, passed[-1]), 0))
        logits = affine(weights[-2], weights[-1], passed[-1])
        return Pass(first, second, hidden, columns, passed, logits)

    def gradient(self, weights: list[Any], inputs: Inputs, labels: Any, into: list[Any]) -> None:
        """Write the gradients of all weights, from the last layer to the first."""
        run = self._forward(weights, inputs)
        dz = cross_entropy_gradient(run.logits, labels)
        for layer in range(len(run.inputs) - 1, -1, -1):
            a = run.inputs[layer]
            at = 4 + 2 * layer
            affine_gradient(dz, a, (into[at], into[at + 1]))
            dz = np.swapaxes(weights[at], 1, 2) @ dz
            dz *= a > 0
        n = len(labels)
        dtwo = pool_gradient(dz.reshape(run.second.largest.shape), run.second)
        dtwo = dtwo.reshape(n, dtwo.shape[1], -1)
        affine_gradient(dtwo, run.columns, (into[2], into[3]))
        dcolumns = np.swapaxes(weights[2], 1, 2) @ dtwo
        dhidden = col2im(dcolumns, run.hidden.shape, self.widths.side)
        dhidden *= run.hidden > 0
        done = pool_gradient(dhidden, run.first)
        affine_gradient(done.reshape(n, done.shape[1], -1), inputs.columns, (into[0], into[1]))


def make(shape: tuple[int, int, int], layers: str = "small") -> Network:
    """Return the network for images of this shape.

    Raises
    ------
    UsageError
        For an unknown name, or images too small for the two convolutions.
    """
    widths = ARCHITECTURES[choice("layers", layers, ARCHITECTURES)]
    network = ConvolutionalNetwork(shape, widths)
    if network.flat == 0:
        raise UsageError(
            f"images of {shape[1]} x {shape[2]} pixels leave nothing after two convolutions of"
            f" {widths.side} x {widths.side} and poolings: choose larger images or other layers."
        )
    return network


ENTRY = ImageFamily(
    name="cnn",
    summary="convolutional networks on real images: the paper's two, and a small one",
    formula=(
        r"f^{(k)}(x) = \frac{1}{n} \sum_i \left[\log \sum_c e^{z_c} - z_{y_i}\right],"
        r" \quad z = \mathrm{linear}(\mathrm{pool}(\mathrm{conv}(\mathrm{pool}"
        r"(\mathrm{conv}(a_i)))))"
    ),
    network=make,
    own={"layers": "small"},
    defaults={"data": "mnist-5k", "shrink": 2},
    visible="The paper's own experiments, layer by layer.",
)
