"""The colours of Okabe and Ito, which colour-blind readers tell apart, and markers for grey prints.

STEM is blue, FedAvg vermilion and minibatch SGD green in every figure.
"""

BLUE, VERMILION, GREEN = "#0072B2", "#D55E00", "#009E73"
SKY, ORANGE, PURPLE = "#56B4E9", "#E69F00", "#CC79A7"
MARKERS = "osD^vP"
