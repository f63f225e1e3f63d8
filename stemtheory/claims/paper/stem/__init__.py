"""The paper's lines on STEM, from its lemmas to its rates."""
