"""The paper's Figure 2 on images: small minibatch, many local steps, all classes per worker.

STEM, FedAvg and SCAFFOLD with the paper's step sizes and with tuned ones, beside FedAvg on STEM's
own schedule.

Paper: Figure (Fig: CIFAR_b8e1), sec: Experiments.
"""

from stemtheory.figures._image_panels import entry

ENTRY = entry(2, "images: small minibatch, many local steps, all classes per worker (Figure 2)")
