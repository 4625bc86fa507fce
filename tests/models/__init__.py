"""Models: what a profile names, how calls of it fail and what they cost, over real HTTP."""
