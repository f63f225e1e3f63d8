"""The paper's Figure 5 on images: few local steps against many, half of the classes per worker.

STEM, FedAvg and SCAFFOLD with the paper's step sizes and with tuned ones, beside FedAvg on STEM's
own schedule.

Paper: Figure (Fig: SampleComplexity_Comp), sec: Experiments.
"""

from stemtheory.figures._image_panels import entry

ENTRY = entry(5, "images: few local steps against many, half of the classes per worker (Figure 5)")
