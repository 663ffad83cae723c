"""The planted faults, by model."""
from faults import cnn, lstm, mobilenet, quantised, resnet, transformer, unet

ALL = [f for m in (cnn, lstm, mobilenet, quantised, resnet, transformer, unet) for f in m.FAULTS]
