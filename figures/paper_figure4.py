"""Figure 4 on images: small minibatch, many local steps, half of the classes per worker.

STEM, FedAvg and SCAFFOLD with the paper's step sizes and with tuned ones, beside FedAvg on STEM's
own schedule.

Paper: Figure (Fig: CIFAR_b8e1_noniid), sec: Experiments.
"""

from stemtheory.figures._image_panels import entry

ENTRY = entry(
    4, "images: small minibatch, many local steps, half of the classes per worker (Figure 4)"
)
