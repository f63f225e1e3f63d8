"""The paper's Figure 3 on images: large minibatch, few local steps, all classes per worker.

STEM, FedAvg and SCAFFOLD with the paper's step sizes and with tuned ones, beside FedAvg on STEM's
own schedule.

Paper: Figure (Fig: CIFAR_b64e1), sec: Experiments.
"""

from stemtheory.figures._image_panels import entry

ENTRY = entry(3, "images: large minibatch, few local steps, all classes per worker (Figure 3)")
