"""Layers of small networks with their gradients by hand: one set of weights per worker.

Arrays are [n, ..., B]: worker first, the minibatch innermost, so that every copy moves long runs of
neighbours and every product is one batched matrix product. NumPy and CuPy alike: only functions
that both have, reached through the arrays.

    dense   Z = W X + w,                 dW = dZ X',  dw = sum dZ,  dX = W' dZ
    conv    the same on the columns of ``im2col``; dX puts the columns back and adds them up
    pool    the largest of 2 x 2; the gradient goes to the first of them that attains it
    loss    cross entropy, log sum exp z - z_y;  dZ = softmax(Z) - onehot(y)
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


def im2col(x: Any, side: int) -> Any:
    """Return all side x side patches of x [n, C, H, W, B] as columns [n, C side^2, H' W' B].

    H' = H - side + 1 and W' likewise; no padding, stride 1. One slice is copied per offset.
    """
    n, C, H, W, B = x.shape
    h, w = H - side + 1, W - side + 1
    columns = np.empty_like(x, shape=(n, C, side, side, h, w, B))
    for i in range(side):
        for j in range(side):
            columns[:, :, i, j] = x[:, :, i : i + h, j : j + w]
    return columns.reshape(n, C * side * side, h * w * B)


def col2im(columns: Any, shape: tuple[int, ...], side: int) -> Any:
    """Return the adjoint of ``im2col``: columns put back to [n, C, H, W, B] and added up."""
    n, C, H, W, B = shape
    h, w = H - side + 1, W - side + 1
    parts = columns.reshape(n, C, side, side, h, w, B)
    x = np.zeros_like(columns, shape=shape)
    for i in range(side):
        for j in range(side):
            x[:, :, i : i + h, j : j + w] += parts[:, :, i, j]
    return x


def affine(weight: Any, bias: Any, x: Any) -> Any:
    """Return W x + w: [n, out, in], [n, out] and [n, in, B] to [n, out, B]."""
    z = weight @ x
    z += bias[:, :, None]
    return z


def affine_gradient(dz: Any, x: Any, into: tuple[Any, Any]) -> None:
    """Write dW = dz x' and dw = sum dz into the two views."""
    into[0][...] = dz @ np.swapaxes(x, 1, 2)
    into[1][...] = dz.sum(axis=2)


class Pooled(NamedTuple):
    """The largest of every 2 x 2 square [n, C, H//2, W//2, B], and the input it was taken of."""

    largest: Any
    x: Any


def pool(x: Any) -> Pooled:
    """Return the maxima of 2 x 2 squares of x [n, C, H, W, B]; an odd last row or column is left.

    Paper: sec: Experiments.
    """
    first, second, third, fourth = (_corner(x, i, j) for i, j in _CORNERS)
    largest = np.maximum(np.maximum(first, second), np.maximum(third, fourth))
    return Pooled(largest, x)


def pool_gradient(dy: Any, pooled: Pooled) -> Any:
    """Return the gradient of x: each dy goes to the first corner that attains the maximum."""
    dx = np.zeros_like(pooled.x)
    left = dy
    for i, j in _CORNERS:
        hit = _corner(pooled.x, i, j) == pooled.largest
        _corner(dx, i, j)[...] = left * hit
        left = left * ~hit
    return dx


_CORNERS = ((0, 0), (0, 1), (1, 0), (1, 1))


def _corner(x: Any, i: int, j: int) -> Any:
    """Return one pixel of every 2 x 2 square, as a view."""
    H, W = x.shape[2] // 2 * 2, x.shape[3] // 2 * 2
    return x[:, :, i:H:2, j:W:2]


def cross_entropy(logits: Any, labels: Any) -> Any:
    """Return the loss of every sample: logits [n, 10, B] and labels [n, B] to [n, B].

    Unlikely beyond the range of floats still costs a finite amount: log sum exp is shifted.
    """
    top = logits.max(axis=1)
    total = np.exp(logits - top[:, None]).sum(axis=1)
    return np.log(total) + top - _chosen(logits, labels)


def cross_entropy_gradient(logits: Any, labels: Any) -> Any:
    """Return d(mean loss)/d(logits): (softmax - onehot)/B, shape [n, 10, B]."""
    share = np.exp(logits - logits.max(axis=1)[:, None])
    share /= share.sum(axis=1)[:, None]
    share -= onehot(labels, share.shape[1])
    share /= labels.shape[1]
    return share


def onehot(labels: Any, classes: int) -> Any:
    """Return true where a sample has that class: labels [n, B] to [n, classes, B]."""
    # 0, 1, ... on the device of the labels: a running sum of ones
    every = np.cumsum(np.ones_like(labels, shape=(classes,)), axis=0) - 1
    return labels[:, None] == every[:, None]


def _chosen(logits: Any, labels: Any) -> Any:
    return (logits * onehot(labels, logits.shape[1])).sum(axis=1)
