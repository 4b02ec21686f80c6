"""The pages of a leaderboard as text: all that is on them, nothing that a student's text could do.

What they do in a browser is in test_board_browser.py.
"""

from __future__ import annotations

import base64
import hashlib
import posixpath
import re
from collections import Counter
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser
from itertools import pairwise

import pytest
import sites

from grader.classroom.board.records import Row, Site, State, Tally, Tried
from grader.reports import board_plots
from grader.reports.board import pages
from grader.reports.board_values import LONGEST_NAME, WORDS

pytestmark = pytest.mark.slow

# Those that differ in what is on the pages, not in how much.
SMALL = {name: sites.ALL[name] for name in sites.ALL if name not in ("class_of_40", "large")}
VOID = {"meta", "input", "br", "link", "img", "hr"}


@dataclass
class Element:
    """An element of a page: what it holds are texts and elements."""

    tag: str
    attributes: dict[str, str | None]
    parts: list[str | Element] = field(default_factory=list)

    @property
    def text(self) -> str:
        return " ".join(self.raw.split())

    @property
    def raw(self) -> str:
        return "".join(part if isinstance(part, str) else part.raw for part in self.parts)

    def all(self, tag: str, **attributes: str) -> list[Element]:
        """The elements within that have this tag and these attributes; `class_` is one class."""
        wanted = attributes.pop("class_", None)
        found = []
        for part in self.parts:
            if isinstance(part, str):
                continue
            if (
                tag in ("*", part.tag)
                and (wanted is None or wanted in (part.attributes.get("class") or "").split())
                and attributes.items() <= part.attributes.items()
            ):
                found.append(part)
            found += part.all(tag, **attributes, **({"class_": wanted} if wanted else {}))
        return found

    def one(self, tag: str, **attributes: str) -> Element:
        (found,) = self.all(tag, **attributes)
        return found


class Reader(HTMLParser):
    """The tree of a page; raises AssertionError where an element is not closed in its place."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open = [Element("page", {})]
        self.feed(text)
        self.close()
        assert [each.tag for each in self.open] == ["page"]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(set(names)) == len(names), (tag, names)
        made = Element(tag, dict(attrs))
        self.open[-1].parts.append(made)
        if tag not in VOID:
            self.open.append(made)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open[-1].parts.append(Element(tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop().tag == tag

    def handle_data(self, data: str) -> None:
        self.open[-1].parts.append(data)


def read(text: str) -> Element:
    return Reader(text).open[0]


def exercise(site: Site, number: int = 0) -> Element:
    return read(pages(site)[f"exercises/{site.boards[number].exercise}.html"])


def rows_of(page: Element, table: str) -> list[Element]:
    return page.one("table", class_=table).one("tbody").all("tr")


def who(row: Element) -> str:
    return row.one("th", scope="row").text


@pytest.fixture(params=SMALL)
def site(request: pytest.FixtureRequest) -> Site:
    return SMALL[request.param]()


def test_there_is_a_page_for_the_class_each_exercise_and_each_student(site: Site):
    assert set(pages(site)) == {
        "index.html",
        *(f"exercises/{board.exercise}.html" for board in site.boards),
        *(f"students/{student.key}.html" for student in site.students),
    }


def test_the_same_site_gives_the_same_pages(site: Site):
    assert pages(site) == pages(site)


def test_a_page_is_whole_in_itself_and_its_links_lead_to_pages(site: Site):
    made = pages(site)
    for name, text in made.items():
        page = read(text)
        every = page.all("*")
        assert {each.tag for each in every}.isdisjoint({"link", "img", "iframe", "object", "base"})
        assert "url(" not in text
        assert "@import" not in text
        ids = Counter(each.attributes["id"] for each in every if "id" in each.attributes)
        assert set(ids.values()) == {1}
        for each in every:
            assert not {at for at in each.attributes if at in ("src", "style") or at[:2] == "on"}
            target = each.attributes.get("href")
            if target is None:
                continue
            if target.startswith("#"):
                assert target[1:] in ids, (name, target)
            else:
                assert posixpath.normpath(posixpath.join(posixpath.dirname(name), target)) in made


def test_only_the_page_s_own_style_and_script_may_run(site: Site):
    for text in pages(site).values():
        page = read(text)
        (policy,) = (
            each.attributes["content"] or ""
            for each in page.all("meta")
            if each.attributes.get("http-equiv") == "Content-Security-Policy"
        )
        assert "default-src 'none'" in policy
        for kind in ("style", "script"):
            (source,) = re.findall(rf"<{kind}>(.*?)</{kind}>", text, re.DOTALL)
            digest = base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()
            assert f"{kind}-src 'sha256-{digest}'" in policy
            assert len(page.all(kind)) == 1


def test_tables_have_captions_and_scopes_and_as_many_cells_as_columns(site: Site):
    for text in pages(site).values():
        for table in read(text).all("table"):
            assert table.one("caption").text
            heads = table.one("thead").all("th")
            assert {head.attributes["scope"] for head in heads} == {"col"}
            assert sum("aria-sort" in head.attributes for head in heads) == 1
            for row in table.one("tbody").all("tr"):
                assert len(row.all("td")) + len(row.all("th")) == len(heads)
                assert len(row.all("th", scope="row")) == 1


def test_every_student_is_on_a_board_once_with_rank_or_reason():
    site = sites.small()
    (board, *_), page = site.boards, exercise(site)
    ranked = [row for row in rows_of(page, "exercise") if "id" in row.attributes]
    expected = [row for row in board.rows if row.rank is not None]
    assert [who(row) for row in ranked] == [row.who for row in expected]
    assert [row.one("td", class_="rank").text for row in ranked] == [
        f"{row.rank} ≈" if row.close else str(row.rank) for row in expected
    ]
    others = [row for row in board.rows if row.rank is None and row.state is not State.BASELINE]
    assert {row.state for row in others} == set(sites.NOTES)
    shown = rows_of(page, "others")
    assert [
        (who(row), row.one("td", class_="state").text, row.one("td", class_="why").text)
        for row in shown
    ] == [(row.who, WORDS[row.state], row.note) for row in others]


def test_a_row_without_a_note_says_why_all_the_same():
    site = sites.small()
    board = site.boards[0]
    rows = tuple(replace(row, note="") for row in board.rows)
    page = exercise(replace(site, boards=(replace(board, rows=rows), *site.boards[1:])))
    assert all(row.one("td", class_="why").text for row in rows_of(page, "others"))


def test_rows_that_cannot_be_told_apart_are_marked_and_the_rule_stands_above_the_table():
    site = sites.class_of_40()
    rows = [row for row in site.boards[0].rows if row.rank is not None]
    marks = [cell.text for cell in exercise(site).all("td", class_="rank") if cell.text != "–"]
    assert marks == [f"{row.rank} ≈" if row.close else str(row.rank) for row in rows]
    assert {row.close for row in rows} == {True, False}
    rule = (
        "Rows are in the order of the share that was certainly reached, the lower end of its "
        "interval; “≈” marks a row that the measurement cannot tell apart from the one above."
    )
    for page, section in ((exercise(site), "board"), (read(pages(site)["index.html"]), "overall")):
        (table,) = [
            one for one in page.all("section") if one.attributes["aria-labelledby"] == section
        ]
        assert rule in table.one("p", class_="lead").text


def test_the_shares_that_are_shown_never_rise_down_a_table():
    """70.2 % stood above 72.8 %, and 887 pairs like that in a class of 200."""
    site = sites.made(200, exercises=2, gpus=tuple(sites.CEILINGS))
    tables = [rows_of(exercise(site, number), "exercise") for number in range(2)]
    tables.append(rows_of(read(pages(site)["index.html"]), "overall"))
    for rows in tables:
        cells = [row.one("td", class_="share") for row in rows]
        shown = [float(cell.one("b").text.rstrip("%")) for cell in cells if cell.all("b")]
        assert shown == sorted(shown, reverse=True)


def test_the_figures_of_a_row_are_those_of_the_record():
    site = sites.small()
    board = site.boards[0]
    records = {row.who: row for row in board.rows}
    for row in rows_of(exercise(site), "exercise"):
        record = records[who(row)]
        cells = {name: row.one("td", class_=name) for name in ("share", "rate", "time", "gpu")}
        counts = record.share if record.share_low is None else record.share_low
        assert float(cells["share"].attributes["data-v"] or 0) == pytest.approx(counts)
        assert cells["share"].one("b").text == f"{counts * 100:.1f}%"
        assert cells["rate"].text == f"{record.bandwidth_gbps:,.0f} of {record.ceiling_gbps:,.0f}"
        assert cells["gpu"].text == "H200"
        if record.time_ms is None:
            assert cells["time"].text == "–"
            assert "data-v" not in cells["time"].attributes
        else:
            assert float(cells["time"].text) == pytest.approx(record.time_ms, rel=5e-3)
        if record.share_low is not None:
            low, high = (f"{share * 100:.1f}" for share in (record.share_low, record.share_high))
            assert cells["share"].one("span").text == f"{low}–{high}"


def test_baselines_stand_where_their_share_puts_them_and_look_different():
    page = exercise(sites.small())
    rows = rows_of(page, "exercise")
    shares = [float(row.one("td", class_="share").attributes["data-v"] or 0) for row in rows]
    assert shares == sorted(shares, reverse=True)
    baselines = [row for row in rows if "baseline" in (row.attributes.get("class") or "")]
    assert [who(row) for row in baselines] == [
        "limit of the GPU's memory",
        "model solution",
        "torch.compile",
        "torch eager",
    ]
    assert all(row.one("td", class_="rank").text == "–" for row in baselines)
    assert not any(row.all("a") for row in baselines)


def test_one_gpu_needs_no_filter_and_several_have_one():
    assert exercise(sites.small()).all("select") == []
    site = sites.class_of_40()
    for page, gpus in (
        (exercise(site), site.boards[0].gpus),
        (read(pages(site)["index.html"]), tuple(sorted(sites.CEILINGS))),
    ):
        options = page.one("select", id="filter").all("option")
        assert [option.text for option in options] == [
            "All GPUs",
            *(gpu.removeprefix("NVIDIA ") for gpu in gpus),
        ]
        assert "“Rank” stays that of the whole class" in page.text
    models = [option.text for option in exercise(site).one("select").all("option")][1:]
    for row in rows_of(exercise(site), "exercise"):
        named = row.attributes["data-g"]
        assert (models[int(named)] if named else "–") == row.one("td", class_="gpu").text


def test_the_overall_board_has_all_standings_and_their_shares():
    site = sites.class_of_40()
    page = read(pages(site)["index.html"])
    rows = rows_of(page, "overall")
    assert [who(row) for row in rows] == [one.who for one in site.standings]
    for row, one in zip(rows, site.standings, strict=True):
        assert [cell.text for cell in row.all("td", class_="f")] == [
            "–" if share is None else f"{share * 100:.0f}" for share in one.shares
        ]
        assert row.one("td", class_="solved").text == f"{one.solved} of {site.exercises}"
        for cell, share, board in zip(
            row.all("td", class_="f"), one.shares, site.boards, strict=True
        ):
            classes = (cell.attributes["class"] or "").split()
            assert ("great" in classes) == (share is not None and share >= board.great)
            assert ("passing" in classes) == (
                share is not None and board.passing <= share < board.great
            )
    heads = page.one("table", class_="overall").one("thead").all("th", class_="f")
    assert [head.text for head in heads] == [
        f"{board.exercise[:2]} {board.title}" for board in site.boards
    ]


def test_who_has_no_rank_overall_has_no_mean_either():
    site = sites.alone()
    (one,) = site.standings
    other = replace(one, who="nobody", rank=None, mean=0.0, mean_low=0.0, mean_high=0.0)
    page = read(pages(replace(site, standings=(one, other)))["index.html"])
    row = rows_of(page, "overall")[1]
    assert row.one("td", class_="rank").text == "–"
    assert row.one("td", class_="share").text == "–"
    assert "data-v" not in row.one("td", class_="share").attributes


def test_a_class_without_a_gpu_sees_its_points_in_order():
    """It saw one empty histogram for each exercise, and means of 0."""
    site = sites.without_gpu()
    page = read(pages(site)["index.html"])
    rows = rows_of(page, "overall")
    assert [who(row) for row in rows] == [one.who for one in site.standings]
    points = [one.points for one in site.standings]
    assert points == sorted(points, reverse=True)
    for row, one in zip(rows, site.standings, strict=True):
        place = 1 + sum(other.points > one.points for other in site.standings)
        assert row.one("td", class_="rank").text == str(place)
        assert row.one("td", class_="share").text == f"{one.points}of 70"
    assert page.all("svg", class_="strip") == []
    assert "%" not in page.one("main").text
    assert "Rows are in the order of points" in page.text
    for name, text in pages(site).items():
        shown = read(text)
        assert not shown.all("svg", class_="class"), name
        assert not shown.all("svg", class_="attempts"), name
        assert "measured yet" not in shown.text


def test_the_points_of_a_class_are_plotted():
    plot = read(board_plots.points_plot([0, 3, 3, 70], 70))
    heights = [float(bar.attributes["height"] or 0) for bar in plot.all("rect", class_="bin")]

    assert heights[0] == pytest.approx(3 * heights[1], rel=0.01)
    words = plot.one("svg").attributes["aria-label"] or ""
    assert "4 students out of 70, from 0 to 70; the middle one has 3" in words


def test_puzzles_and_exercises_are_counted():
    for site in (sites.without_gpu(), sites.class_of_40()):
        rows = rows_of(read(pages(site)["index.html"]), "tasks")
        boards = {board.exercise for board in site.boards}
        for row, one in zip(rows, site.tallies, strict=True):
            assert who(row) == one.title
            assert bool(row.all("a")) == (one.exercise in boards)
            assert row.one("td", class_="share").text == f"{one.solved}of {len(site.standings)}"
            assert row.one("td", class_="handed").text == str(one.tried)
    tally = site.tallies[2]
    sentence = f"{tally.solved} of {tally.tried} students who handed it in solved it."
    assert sentence in exercise(site).text


@pytest.mark.parametrize(
    ("names", "labels"),
    [
        (("01_add", "02_dot"), ["01", "02"]),
        (("01_add", "08_dot"), ["01", "08"]),
        (("add", "dot"), ["1", "2"]),
        (("p_add", "p_dot"), ["1", "2"]),
    ],
)
def test_exercises_have_short_labels_that_differ(names: tuple[str, ...], labels: list[str]):
    site = sites.made(2, exercises=2)
    boards = tuple(
        replace(board, exercise=name) for board, name in zip(site.boards, names, strict=True)
    )
    tallies = tuple(Tally(name, name, 10, 2, 1) for name in names)
    page = read(pages(replace(site, boards=boards, tallies=tallies))["index.html"])
    assert [each.text for each in page.all("span", class_="label")] == labels


def test_what_is_empty_says_so():
    assert "No results yet" in read(pages(sites.nothing())["index.html"]).text
    assert "Nobody has handed in a result yet" in exercise(sites.nothing()).text
    page = exercise(sites.unverified())
    assert "Nobody is ranked yet: only results that a trusted run made on a GPU rank." in page.text
    assert [cell.text for cell in page.all("td", class_="rank")] == ["–"] * 4
    bare = sites.nothing()
    bare = replace(bare, boards=tuple(replace(board, rows=()) for board in bare.boards))
    assert exercise(bare).all("table") == []
    assert exercise(bare).all("svg", class_="plot") == []


def test_a_student_without_an_attempt_has_a_page_that_says_so():
    site = sites.alone()
    (student,) = site.students
    site = replace(site, students=(replace(student, tried=()),))
    assert (
        "Nothing has been handed in yet." in read(pages(site)[f"students/{student.key}.html"]).text
    )


def test_words_are_explained_where_they_stand():
    for page in (read(pages(sites.small())["index.html"]), exercise(sites.small())):
        assert "a reference kernel with the same mix of reads and writes" in page.text
        assert "the share that was certainly reached" in page.text
    assert "Unverified means right and timed, but not by a run" in exercise(sites.small()).text
    assert "Unverified means" not in exercise(sites.alone()).text


def test_hostile_text_stays_text():
    site = sites.hostile()
    made = pages(site)
    own = {each.tag for text in pages(sites.small()).values() for each in read(text).all("*")}
    for name, text in made.items():
        assert "<script>alert" not in text
        assert "<img" not in text
        assert {each.tag for each in read(text).all("*")} <= own | {"select", "option"}, name
    names = [who(row) for row in rows_of(read(made["index.html"]), "overall")]
    for hostile in sites.HOSTILE:
        shown = hostile if len(hostile) <= LONGEST_NAME else hostile[: LONGEST_NAME - 1] + "…"
        assert " ".join(shown.split()) in names
    student = read(made[f"students/{site.standings[0].key}.html"])
    assert student.one("h1").text == sites.HOSTILE[0]
    notes = {cell.text for cell in student.all("td", class_="why")}
    assert any(note.startswith("</td><script>alert(2)</script> very long") for note in notes)


def test_names_have_their_own_direction():
    for name, text in pages(sites.hostile()).items():
        page = read(text)
        tasks = [row for table in page.all("table", class_="tasks") for row in table.all("tr")]
        for row in page.all("tr"):
            if name.startswith("students/") or not row.all("th", scope="row"):
                continue
            if row in tasks:
                continue
            assert row.one("th", scope="row").one("bdi").text == who(row)
        if name.startswith("students/"):
            assert page.one("h1").one("bdi").text


# -- pictures


def points(page: Element) -> list[tuple[float, float]]:
    plot = page.one("svg", class_="class")
    return [
        (float(circle.attributes["cx"].rstrip("%")), float(circle.attributes["cy"]))
        for circle in plot.all("circle")
    ]


def test_the_class_plot_has_a_point_for_each_ranked_student_in_rising_order():
    site = sites.class_of_40()
    page = exercise(site)
    board = site.boards[0]
    ranked = {number: row for number, row in enumerate(board.rows) if row.rank is not None}
    assert len(points(page)) == len(ranked)
    assert points(page) == sorted(points(page), key=lambda at: (at[0], -at[1]))
    ys = [y for _, y in points(page)]
    assert ys == sorted(ys, reverse=True)
    plot = page.one("svg", class_="class")
    lines = {kind: float(plot.one("line", class_=kind).attributes["y1"] or 0) for kind in KINDS}
    assert lines["limit"] < lines["great"] < lines["passing"]
    for group in plot.all("g"):
        row = ranked[int(group.attributes["data-row"] or -1)]
        assert page.one("tr", id=f"r{group.attributes['data-row']}").one("bdi").text == row.who
        y = float(group.one("circle").attributes["cy"] or 0)
        assert (y <= lines["passing"]) == (row.share_low >= board.passing)
        assert (y <= lines["great"]) == (row.share_low >= board.great)
        line = group.one("line").attributes
        assert float(line["y1"]) < y == float(line["y2"])


KINDS = ("limit", "great", "passing")


def test_the_class_plot_marks_each_kind_of_baseline_and_names_it():
    site = sites.class_of_40()
    page = exercise(site)
    plot = page.one("svg", class_="class")
    marks = Counter(use.attributes["href"] for use in plot.all("use", class_="baseline"))
    assert set(marks.values()) == {1}, "one for all GPUs"
    reach = [
        (float(one.attributes["y1"]), float(one.attributes["y2"]))
        for one in plot.all("line", class_="reach")
    ]
    assert len(reach) == len(marks)
    for use, (high, low) in zip(plot.all("use", class_="baseline"), reach, strict=True):
        assert high < float(use.attributes["y"]) < low
    legend = page.one("ul", class_="legend")
    named = {
        item.one("use").attributes["href"]: item.text
        for item in legend.all("li", class_="baseline")
    }
    assert set(named) == set(marks)
    assert sorted(named.values()) == ["model solution", "torch eager", "torch.compile"]
    ys = {kind: float(plot.one("line", class_=kind).attributes["y1"] or 0) for kind in KINDS}
    solution = next(mark for mark, name in named.items() if name == "model solution")
    for use in plot.all("use", href=solution):
        assert ys["limit"] < float(use.attributes["y"] or 0) < ys["passing"]


def test_the_class_plot_has_a_description_in_words():
    site = sites.class_of_40()
    board = site.boards[0]
    shares = sorted(row.share_low for row in board.rows if row.rank is not None)
    passed = sum(row.share >= board.passing for row in board.rows if row.rank is not None)
    words = exercise(site).one("svg", class_="class").attributes["aria-label"] or ""
    assert f"{len(shares)} ranked students" in words
    assert f"from {shares[0]:.1%} to {shares[-1]:.1%}" in words
    assert f"{passed} reach the gate" in words
    alone = exercise(sites.alone()).one("svg", class_="class").attributes["aria-label"] or ""
    assert alone.startswith("Shares of 1 ranked student, from")
    nobody = exercise(sites.nothing()).one("svg", class_="class").attributes["aria-label"]
    assert nobody == "Nobody is ranked yet; the plot shows the baselines of the table."


@pytest.mark.parametrize(
    ("passing", "great"), [(0.5, 0.52), (0.97, 0.99), (0.9, 0.9), (0.1, 1.0), (0.8, 0.9)]
)
def test_no_label_of_a_plot_lies_on_another(passing: float, great: float):
    site = sites.small()
    board = replace(site.boards[0], passing=passing, great=great)
    plot = read(board_plots.class_plot(board))
    ys = [float(text.attributes["y"]) for text in plot.all("text") if "x" not in text.attributes]
    assert all(below - above >= 12 for above, below in pairwise(ys))
    names = " ".join(text.text for text in plot.all("text"))
    assert "passing" in names
    assert "great" in names


@pytest.mark.parametrize("great", [0.9, 0.95, 0.97, 0.99, 1.0])
def test_no_label_lies_on_the_line_of_the_limit(great: float):
    """On a student's page, whose plots are low, `97% great` did."""
    site = sites.small()
    board, tried = replace(site.boards[0], great=great), site.students[0].tried
    scale = board_plots.attempts_scale(tried, [board])
    plot = read(board_plots.attempts_plot(tried, board, scale, "words"))
    line = float(plot.one("line", class_="limit").attributes["y1"] or 0)
    text = float(plot.one("text", class_="great").attributes["y"] or 0)
    # Of a font of 12 pixels, with the halo that keeps lines away from it.
    assert text + 2 < line or text - 11 > line


def test_shares_beyond_the_picture_stay_at_its_edge():
    for share in (-0.5, 0.0, 1.5, 40.0):
        row = Row("a", "a", State.RANKED, rank=1, share=share, share_low=share, share_high=share)
        small = read(board_plots.bar(row.share, row.share_low, row.share_high))
        ends = re.findall(r"[MH](-?[\d.]+)", small.all("path")[0].attributes["d"] or "")
        assert all(0 <= float(end) <= 104 for end in ends)


def test_a_small_histogram_counts_every_ranked_student():
    site = sites.made(4, exercises=1)
    shares = (0.011, 0.013, 0.5, 1.2)
    rows = tuple(
        Row(str(n), str(n), State.RANKED, rank=n, share=share) for n, share in enumerate(shares, 1)
    )
    strip = read(board_plots.strip(replace(site.boards[0], rows=rows)))
    bars = re.findall(r"M([\d.]+) 24V([\d.]+)", strip.one("path", class_="bars").attributes["d"])
    # Two in the first fiftieth, so that it is twice as high; what lies beyond is in the last.
    assert bars == [("0", "2.0"), ("50", "13.0"), ("102", "13.0")]


def test_a_student_s_plots_have_a_mark_for_each_attempt():
    site = sites.small()
    student = site.students[0]
    page = read(pages(site)[f"students/{student.key}.html"])
    plots = page.all("svg", class_="attempts")
    assert len(plots) == len(site.boards)
    for plot, board in zip(plots, site.boards, strict=True):
        tried = [each for each in student.tried if each.exercise == board.exercise]
        marks = plot.all("use")
        assert [use.attributes["href"] for use in marks] == [
            f"#{board_plots.MARK_OF[each.state]}" for each in tried
        ]
        xs = [float(use.attributes["x"].rstrip("%")) for use in marks]
        assert xs == sorted(set(xs))
        scale = board_plots.attempts_scale(student.tried, site.boards)
        for use, each in zip(marks, tried, strict=True):
            y = float(use.attributes["y"])
            assert y > scale.bottom if each.share is None else y == scale.y(each.share)


def test_the_line_of_a_student_is_the_best_ranked_share_so_far():
    board = sites.alone().boards[0]
    states = [State.RANKED, State.RANKED, State.RANKED, State.UNVERIFIED, State.RANKED]
    tried = [
        Tried(board.exercise, "", state, 5, 10, share=share)
        for share, state in zip((0.5, 0.8, 0.6, 0.99, 0.9), states, strict=True)
    ]
    scale = board_plots.attempts_scale(tried, [board])
    plot = read(board_plots.attempts_plot(tried, board, scale, "words"))
    line = plot.one("path", class_="best").attributes["d"] or ""
    start, *steps = re.findall(r"(?:V|M[\d.]+ )([\d.]+)", line)
    assert [float(start), *map(float, steps)] == [scale.y(0.5), scale.y(0.8), scale.y(0.9)]


def test_a_student_s_attempts_stand_newest_first_in_words():
    site = sites.small()
    student = site.students[0]
    page = read(pages(site)[f"students/{student.key}.html"])
    rows = rows_of(page, "history")
    assert [row.one("td", class_="state").text for row in rows] == [
        WORDS[each.state] for each in reversed(student.tried)
    ]
    assert [row.one("td", class_="points").text for row in rows] == [
        f"{each.points} of {each.max_points}" for each in reversed(student.tried)
    ]
    keys = [int(row.one("td", class_="when").attributes["data-v"] or 0) for row in rows]
    assert keys == sorted(keys, reverse=True)
    titles = [option.text for option in page.one("select", id="filter").all("option")][1:]
    assert titles == [*(board.title for board in site.boards), "Map"]
    for row in rows:
        assert titles[int(row.attributes["data-g"] or -1)] == who(row)


def test_a_student_sees_the_ranks_and_the_overall_standing():
    site = sites.class_of_40()
    one = next(one for one in site.standings if one.close)
    page = read(pages(site)[f"students/{one.key}.html"])
    overall = page.one("dl", class_="figures").all("dd")[0].text
    assert overall == f"{one.rank} ≈"
    assert page.one("dl", class_="figures").all("dd")[1].text == f"{one.mean_low:.1%}"
    for item, board in zip(page.one("ul", class_="plots").all("li"), site.boards, strict=True):
        (row,) = (row for row in board.rows if row.key == one.key)
        assert f"rank {row.rank}{' ≈' if row.close else ''} · {row.share_low:.1%}" in item.text


@pytest.mark.parametrize(
    ("when", "shown", "key"),
    [
        ("2026-11-02T07:05:09Z", "2 Nov 2026, 07:05", "1793603109"),
        ("2026-11-02T09:05:09+02:00", "2 Nov 2026, 07:05", "1793603109"),
        ("2026-11-02T07:05:09", "2 Nov 2026, 07:05", "1793603109"),
        ("<yesterday>", "<yesterday>", None),
    ],
)
def test_moments_are_utc_and_what_is_none_stays_as_it_is(when: str, shown: str, key: str | None):
    site = sites.alone()
    (student,) = site.students
    tried = (replace(student.tried[0], when=when),)
    made = pages(replace(site, students=(replace(student, tried=tried),)))
    (row,) = rows_of(read(made[f"students/{student.key}.html"]), "history")
    cell = row.one("td", class_="when")
    assert cell.text == shown
    assert cell.attributes.get("data-v") == key


@pytest.mark.parametrize(
    ("time_ms", "shown"),
    [(0.18349, "0.183"), (12.345, "12.3"), (4711.4, "4,711"), (0.0042, "0.00420"), (0.0, "0.00")],
)
def test_times_have_three_digits_that_count(time_ms: float, shown: str):
    site = sites.made(0, exercises=1)
    board = site.boards[0]
    rows = tuple(replace(row, time_ms=time_ms) for row in board.rows)
    page = exercise(replace(site, boards=(replace(board, rows=rows),)))
    assert {cell.text for cell in page.all("td", class_="time")} == {shown}


def test_pages_of_a_large_class_stay_below_a_megabyte():
    """A board does not grow with attempts, nor a student's page with the class."""
    boards = pages(sites.large(attempts=1))
    student = pages(sites.large(students=1))
    largest = max(len(text.encode()) for text in [*boards.values(), *student.values()])
    assert largest < 1_000_000
