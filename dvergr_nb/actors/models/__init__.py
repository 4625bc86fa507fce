"""Models: what a profile names made into something that can be asked, how calls of it fail, and what they cost."""
