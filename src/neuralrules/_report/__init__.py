"""A fitted model as one HTML page.

`_page_model` writes the model as the page's script reads it. `_sections` and the modules that
end in `_section` collect the contents of the page. `_svg` draws the charts of
`neuralrules._charts` as SVG. `_page` puts everything into the templates and writes the file.
"""

from neuralrules._report._page import check_given, report
from neuralrules._report._sections import ReportRows

__all__ = ["ReportRows", "check_given", "report"]
