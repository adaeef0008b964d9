"""Whether what nodes and pods fetch is there: models, pull-through rules, images."""
