"""The paper's experiments on real images: data sets, networks by hand, training."""

from typing import TYPE_CHECKING

from stemtheory._faces import face

if TYPE_CHECKING:
    from stemtheory.images.data_sets import Images, available, missing
    from stemtheory.images.networks import Network
    from stemtheory.images.nn_layers import (
        Pooled,
        affine,
        affine_gradient,
        col2im,
        cross_entropy_gradient,
        im2col,
        pool,
        pool_gradient,
    )
    from stemtheory.images.over_seeds import SeedMean, percent, points
    from stemtheory.images.problem import ImageFamily, ImageProblem
    from stemtheory.images.training import History, PerEpoch, Training, train

__getattr__, __dir__ = face(__name__)
