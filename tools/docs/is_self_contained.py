#!/usr/bin/env python3
"""Says whether a built site needs the network: is_self_contained.py FOLDER

Scripts, styles, images, fonts and frames of every page must be files of the
folder; links that a reader follows may lead elsewhere. Exit status: 1 if not."""

import html.parser
import pathlib
import re
import sys
import urllib.parse

LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src",
          "source": "src", "object": "data"}
NOT_LOADED = {"canonical", "next", "prev", "index", "search", "author"}


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.loaded = []

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        if tag == "link" and given.get("rel") in NOT_LOADED:
            return
        if given.get(LOADED.get(tag, "")):
            self.loaded.append(given[LOADED[tag]])


def faults(folder):
    for path in sorted(folder.rglob("*.html")):
        page = Page()
        page.feed(path.read_text())
        for url in page.loaded:
            if re.match(r"(https?:)?//", url):
                yield f"{path}: loads {url}"
            elif not url.startswith("data:"):
                name = urllib.parse.unquote(re.split("[?#]", url)[0])
                if name and not (path.parent / name).exists():
                    yield f"{path}: lacks {url}"
    for path in sorted(folder.rglob("*.css")):
        for url in re.findall(r"(?:url\(|@import )['\"]?((?:https?:)?//[^'\")]+)",
                              path.read_text()):
            yield f"{path}: loads {url}"


def main(arguments):
    found = list(faults(pathlib.Path(arguments[0])))
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
