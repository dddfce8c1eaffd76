"""The data of every chart. The report draws it as SVG, and `plot` draws it with matplotlib."""
