"""Sphinx's settings: tools/docs/build.sh runs it on what stage.py wrote."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

project = "zeroulp"
author = "the zeroulp authors"
project_copyright = ""
html_show_copyright = False
html_show_sphinx = False
version = release = re.search(
    r"project\(zeroulp VERSION ([0-9.]+)",
    (ROOT / "CMakeLists.txt").read_text())[1]

extensions = ["myst_parser", "sphinx_copybutton"]
source_suffix = {".md": "markdown"}
# Headings have the anchors that GitHub gives them.
myst_heading_anchors = 4
myst_enable_extensions = ["attrs_inline"]
# One page has several first-level parts: a SPEC that is included, a glossary.
suppress_warnings = ["myst.header"]
# A type in a signature may be of another package.
nitpicky = False
python_maximum_signature_line_length = 78
add_module_names = False
highlight_language = "text"

html_theme = "furo"
html_title = "zeroulp"
html_static_path = ["static"]
html_css_files = ["zeroulp.css"]
html_copy_source = False
html_show_sourcelink = False
html_last_updated_fmt = None
html_domain_indices = True
html_use_index = True
pygments_style = "friendly"
pygments_dark_style = "native"
copybutton_prompt_text = "$ "
copybutton_only_copy_prompt_lines = True
copybutton_exclude = ".linenos, .gp"
