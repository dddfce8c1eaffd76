"""The data of every chart, computed once: the report draws it as SVG, `plot` by matplotlib."""
