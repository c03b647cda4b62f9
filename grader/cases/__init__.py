"""From recipes to cases that are kept. The only room that runs an author's code."""
