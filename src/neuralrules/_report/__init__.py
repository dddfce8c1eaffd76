"""A fitted model as one HTML page.

`_page_model` writes the model down as the page's script reads it, `_sections` and the modules
that end in `_section` say what stands in the page, `_threshold` what each threshold of two
classes flags, `_charts` and `_axes` where the points of its charts lie, `_numbers` how numbers
are written, and `_page` puts all of it into the templates and writes the file.
"""

from neuralrules._report._page import check_given, report
from neuralrules._report._sections import ReportRows

__all__ = ["ReportRows", "check_given", "report"]
