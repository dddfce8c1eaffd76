"""A fitted model as one HTML page.

`_model` writes the model down as the page's script reads it, `_table` and `_sections` say
what stands in the page, `_charts` where the points of its charts lie, `_numbers` how
numbers are written, and `_page` puts all of it into the templates and writes the file.
"""

from neuralrules._report._page import report

__all__ = ["report"]
