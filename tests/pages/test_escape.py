"""Nothing a log says becomes markup, in any place of a page, by any road from text to HTML."""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser

import markdown
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from chronicle.pages.words import LONGEST, as_html, cited, lines, linked, plain, slug, yaml_string

EXTENSIONS = ["admonition", "attr_list", "md_in_html", "tables", "toc"]

HOSTILE = [
    "<script>alert(1)</script>",
    "</h1><img src=x onerror=alert(1)>",
    '" onmouseover="alert(1)',
    "' onfocus='alert(1)' autofocus='",
    "**bold** _slanted_ `code` ~~gone~~",
    "[text](javascript:alert(1)) ![picture](x)",
    "# heading { onclick=alert(1) }",
    "{: #stolen .class onclick=alert(1) }",
    "{{ 7 * 7 }} {% raw %} {# gone #}",
    "a | b | c\n---|---|---\n1 | 2 | 3",
    "first\n\n# second\n\n    code",
    "--- \ntitle: stolen\n---",
    "&lt;b&gt; &amp; &#60;script&#62;",
    "\\# \\<b\\> \\",
    "]]> <!-- comment --> <![CDATA[",
    "*[HTML]: abbreviation\n[1]: http://example.org",
    "\x02klzzwxh:0\x03 \x02wzxhzdk:0\x03",
    "\u202egpj.exe\u202c \u2066isolated\u2069",
    "nul \x00 bell \x07 escape \x1b[31m",
    "lone \ud800 surrogate \udcff",
    "x" * 10_000,
    "",
]


class Reader(HTMLParser):
    """The elements of a page with the names of their attributes, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, tuple[str, ...]]] = []
        self.words: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, tuple(name for name, _ in attrs)))

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return "".join(self.words)


PLACES = {
    "heading": ("# {} {{ #top }}", [("h1", ("id",))]),
    "paragraph": ("Seen: {} there.", [("p", ())]),
    "block": ("<section><p>{}</p></section>", [("section", ()), ("p", ())]),
    "attribute": ('<p title="{}">.</p>', [("p", ("title",))]),
    "item of a list": ("- of {}", [("ul", ()), ("li", ())]),
    "markdown in a block": ('<div markdown="1">\n\n## Finding: {}\n\n</div>', [("div", ()), ("h2", ("id",))]),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("text", HOSTILE)
def test_text_stays_text_in_every_place(place: str, text: str) -> None:
    source, elements = PLACES[place]
    made = Reader(markdown.markdown(source.format(as_html(text)), extensions=EXTENSIONS))
    assert made.elements == elements
    if place != "attribute":
        assert plain(text).strip() in made.text


@given(st.text(max_size=60))
def test_any_text_is_shown_and_nothing_else(text: str) -> None:
    source = f"<p>{as_html(text)}</p>"
    assert html.unescape(as_html(text)) == plain(text)
    assert Reader(markdown.markdown(source, extensions=EXTENSIONS)).elements == [("p", ())]
    plain(text).encode("utf-8")


@given(st.text(max_size=60))
def test_front_matter_holds_the_escaped_text(text: str) -> None:
    assert yaml.safe_load(f"title: {yaml_string(text)}") == {"title": str(as_html(text))}


def test_what_cannot_be_shown_is_seen_to_be_missing() -> None:
    assert plain("a\x00b\x1b[0m") == "a\ufffdb\ufffd[0m"
    assert plain("evil\u202etxt.exe") == "evil\ufffdtxt.exe"
    assert plain("bad \udcff name") == "bad \ufffd name"
    assert plain("two\nlines\tand\u2028more") == "two lines and more"
    assert plain("58\u202f897 steps\u00a0on") == "58\u202f897 steps\u00a0on"


def test_long_text_is_cut_and_says_so() -> None:
    assert plain("x" * (LONGEST + 75)) == "x" * LONGEST + "… (75 more characters)"
    assert plain("x" * (LONGEST + 25)) == "x" * (LONGEST + 25)


def test_lines_keep_their_breaks() -> None:
    assert lines("one <b>\ntwo\n") == "one &#60;b&#62;<br>two"


def test_only_web_addresses_become_links() -> None:
    shown = "https://example.org/a&#95;b?c=1&#38;d"
    link = f'<a href="{shown}" rel="noopener noreferrer">{shown}</a>'
    assert linked("https://example.org/a_b?c=1&d") == link
    assert linked("Read https://example.org/a_b?c=1&d, then <b>.") == f"Read {link}, then &#60;b&#62;."
    assert linked(f"{link} {link}").count("<a") == 4  # each address, and nothing of the markup around it
    for text in ["javascript:alert(1)", "data:text/html,x", "https://", "stas00/ml-engineering"]:
        assert linked(text) == as_html(text)


@given(st.text(max_size=60), st.text(max_size=60))
def test_a_link_is_all_that_an_address_adds(before: str, after: str) -> None:
    made = Reader(linked(f"{before} https://example.org/x {after}"))
    assert set(made.elements) <= {("a", ("href", "rel"))}
    assert plain(f"{before} https://example.org/x {after}") == made.text


@pytest.mark.parametrize(
    ("run_id", "folder"),
    [
        ("tr11-176B_v1.0", "tr11-176B_v1.0"),
        ("../../etc", "%2E.%2F..%2Fetc"),
        ("a b", "a%20b"),
        ("..", "%2E."),
    ],
)
def test_a_run_lives_in_a_folder_of_its_own(run_id: str, folder: str) -> None:
    assert slug(run_id) == folder


@pytest.mark.parametrize(
    ("where", "address"),
    [
        ("arXiv:2204.02311, section 5.1", "https://arxiv.org/abs/2204.02311"),
        ("owner/name#12", "https://github.com/owner/name/issues/12"),
        ("o/n, a_b/c.md (MIT)", "https://github.com/o/n/blob/HEAD/a_b/c.md"),
        ("o/n (MIT)", "https://github.com/o/n"),
        ("huggingface.co/a/b and more", "https://huggingface.co/a/b"),
        ("https://example.org/a", "https://example.org/a"),
    ],
)
def test_a_source_is_a_link(where: str, address: str) -> None:
    assert re.findall('href="([^"]*)"', html.unescape(cited(where))) == [address]


def test_what_names_no_place_is_text() -> None:
    for text in ("our log, and/or <b>", "javascript:alert(1)", "a book"):
        assert cited(text) == as_html(text)
