"""The objects of a stack: how they come in, what is derived from them, what of them stays secret, the verdicts."""
