"""The fused engine on a CUDA device: whole segments of rounds in one launch."""
