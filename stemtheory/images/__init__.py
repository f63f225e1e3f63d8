"""The paper's experiments on real images: data sets, networks by hand, training."""
