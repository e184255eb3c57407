"""Makes a public set of questions from LibreOffice's help, for measuring search.

help_set.py HELP OUT: HELP contains the unpacked Debian packages libreoffice-help-*, each in a directory with the package's name; OUT gets
pages-LANG.jsonl and questions-LANG.jsonl. The texts are under the Mozilla Public License 2.0; none of them is kept in this repository.

A page is its title and its text as Markdown. A question is a keyword of the index, as its authors wrote it, and the pages that have it; keywords
are in no page's text. Pages and questions are chosen by hashes of their names, so that each run makes the same set. The same path is the same
page in every language: a question in one language with the pages of another measures search across languages.
"""

import hashlib
import html.parser
import json
import pathlib
import sys

PAGES = 700
# Half of the questions are for choosing parameters (split "tune"), and half for the reported figures ("test").
QUESTIONS = 600
# Shorter pages contain nothing to find, and longer ones are lists.
LEAST_CHARACTERS = 200
MOST_CHARACTERS = 12_000
HEADINGS = {"h1": 1, "h2": 2, "h3": 3, "h4": 4, "h5": 5, "h6": 6}
BLOCKS = {"p", "li", "tr", "pre", "div", "ol", "ul", "table", *HEADINGS}
LEFT_OUT = {"script", "style", "footer", "header", "aside", "noscript"}


class Page(html.parser.HTMLParser):
    """Parses a page into its title, keywords and text."""

    def __init__(self, source):
        super().__init__()
        self.title, self.keywords, self.blocks, self.line = "", [], [], ""
        self.skipped, self.in_title, self.in_text, self.prefix = 0, False, False, ""
        self.feed(source)
        self.end_block()

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag in LEFT_OUT:
            self.skipped += 1
        elif tag == "title":
            self.in_title = True
        elif attributes.get("id") == "DisplayArea":
            self.in_text = True
        elif attributes.get("id") in ("SearchFrame", "DonationFrame"):
            self.end_block()
            self.in_text = False
        elif tag == "meta" and attributes.get("itemprop") == "keywords":
            self.keywords.append(attributes.get("content", ""))
        elif tag in BLOCKS:
            self.end_block()
            self.prefix = "#" * HEADINGS[tag] + " " if tag in HEADINGS else "- " if tag == "li" else self.prefix
        elif tag in ("td", "th") and self.line:
            self.line += " | "
        elif tag == "br":
            self.line += " "

    def handle_endtag(self, tag):
        if tag in LEFT_OUT:
            self.skipped -= 1
        elif tag == "title":
            self.in_title = False
        elif tag in BLOCKS:
            self.end_block()

    def handle_data(self, data):
        if self.in_title:
            self.title += data
        elif self.in_text and not self.skipped:
            self.line += data

    def end_block(self):
        line = " ".join(self.line.split())
        if line:
            self.blocks.append(self.prefix + line)
            self.prefix = ""
        self.line = ""

    def text(self):
        return "\n\n".join(self.blocks)


def order(*words):
    return hashlib.sha256("\n".join(words).encode()).digest()


def asked(keyword):
    """Returns a keyword as people type it: "cells, merging/splitting" without the comma."""
    return " ".join(keyword.replace(",", " ").replace(";", " ").split())


def main(help_directory, out):
    languages = {}
    for package in sorted(pathlib.Path(help_directory).glob("libreoffice-help-*")):
        for root in package.glob("usr/share/libreoffice/help/*/text"):
            languages[root.parent.name] = root
    shared = set.intersection(*({str(file.relative_to(root)) for file in root.rglob("*.html")} for root in languages.values()))
    pages = {language: {} for language in languages}
    for path in sorted(shared, key=order):
        read = {language: Page((root / path).read_text(encoding="utf-8")) for language, root in languages.items()}
        sizes = [len(page.text()) for page in read.values()]
        has_keywords = all(any(map(asked, page.keywords)) for page in read.values())
        # An untranslated page has the same text in both languages.
        texts = {page.text() for page in read.values()}
        is_fine = len(texts) == len(read) and has_keywords and max(sizes) <= MOST_CHARACTERS
        if is_fine and min(sizes) * 2 >= LEAST_CHARACTERS and max(sizes) >= LEAST_CHARACTERS:
            for language, page in read.items():
                pages[language][path] = page
        if len(pages["en-US"]) == PAGES:
            break
    for language, of_language in sorted(pages.items(), key=lambda item: item[0] != "en-US"):
        questions = {}
        for path, page in of_language.items():
            for keyword in filter(None, map(asked, page.keywords)):
                questions.setdefault(keyword, set()).add(path)
        # Some keywords are not translated: a question with such a keyword would be in English.
        if language != "en-US":
            questions = {keyword: paths for keyword, paths in questions.items() if keyword not in english}
        else:
            english = set(questions)
        chosen = sorted(questions, key=lambda keyword: order(language, keyword))[:QUESTIONS]
        directory = pathlib.Path(out)
        directory.mkdir(parents=True, exist_ok=True)
        with open(directory / f"pages-{language}.jsonl", "w", encoding="utf-8") as file:
            for path, page in of_language.items():
                line = {"path": path, "title": " ".join(page.title.split()), "text": page.text()}
                print(json.dumps(line, ensure_ascii=False), file=file)
        with open(directory / f"questions-{language}.jsonl", "w", encoding="utf-8") as file:
            for at, keyword in enumerate(chosen):
                line = {"text": keyword, "pages": sorted(questions[keyword]), "split": "tune" if at % 2 else "test"}
                print(json.dumps(line, ensure_ascii=False), file=file)


main(*sys.argv[1:])
