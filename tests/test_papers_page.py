"""The page of the papers' tables: what is printed, what was run, and what is said of both."""

from benchmarks.data import AbsentError
from benchmarks.papers import page as pages
from benchmarks.papers.experiment import Claim, Experiment, Printed
from benchmarks.papers.page import section, write_section


def test_the_page_judges_claims_and_shows_what_is_printed_of_absent_sets(tmp_path):
    def absent():
        raise AbsentError("it is elsewhere")

    def run(size):
        """Method one is better by 1 point, but for `view difference`, which is 2 and size."""
        return {
            "one": {"as printed": {"F1": [0.81, 0.82, 0.83], "view difference": [2.0, 2.1, 1.9]}},
            "two": {"as printed": {"F1": [0.80, 0.81, 0.82], "view difference": [size] * 3}},
        }

    page = section(
        Experiment(
            "name", "Title: Table 1", "Source.", "Protocol.",
            sets={"small": lambda: 0.5, "large": lambda: 9.0, "gone": absent},
            run=run,
            higher={"F1": True, "view difference": False},
            claims=(
                Claim("one", "two", "F1"),
                Claim("one", "two", "view difference"),
                Claim("two", "two", "view difference", ("small", "large")),
                Claim("two", "two", "view difference", ("large", "small")),
                Claim("one", "one", "view difference", ("large", "small")),
            ),
            printed={
                ("small", "one", "F1"): Printed(90, 1),
                ("gone", "one", "F1"): Printed(70),
                ("gone", "two", "F1"): Printed(75),
                ("lost", "two", "F1"): Printed(25),
            },
            absent={"lost": "it is not public", "a picture": "it has no numbers"},
            scale=100.0,
        ),
        [],
        tmp_path,
    )  # fmt: skip
    assert (
        "Not available here: `crossview datasets NAME -o FILE` downloads it.\n\n| F1 | printed |"
        in page
    )
    assert "| one | 70.0 |\n| two | 75.0 |" in page
    assert (
        "Not run: lost, for it is not public.\n\n| F1 | printed |\n| --- | --- |\n| two | 25.0 |"
        in page
    )
    assert page.endswith("Not run: a picture, for it has no numbers.")
    assert "| one | 90.0 ± 1.0 | 82.0 (" in page
    assert "| two | 9.00 (9.00 to 9.00) |" in page  # neither in percent nor cut off
    rows = [[cell.strip() for cell in row.split("|")[1:-1]] for row in page.splitlines()]
    said = {(row[0], row[1]): row[2:] for row in rows if len(row) == 4}
    assert said["one, than two, in F1", "gone"] == ["-5.0", ""]
    assert said["one, than two, in F1", "small"][1].endswith("holds")
    better = "one, than two, in view difference"
    assert said[better, "small"][1].endswith("contradicted")
    assert said[better, "large"][1].endswith("holds")
    assert said["two, in view difference", "small than large"][1] == "+8.50 (+8.50 to +8.50), holds"
    assert said["two, in view difference", "large than small"][1].endswith("contradicted")
    assert said["one, in view difference", "large than small"][1].endswith("not shown")
    assert "- two is better on small than on large in view difference: as printed holds." in page


def test_a_set_that_is_run_again_leaves_the_others_on_the_page(tmp_path, monkeypatch):
    """The name of one is the beginning of another one's."""
    ahead = {"user, item": 0.01, "user, item, week": 0.02, "user": 0.03}

    def run(gain):
        return {
            "one": {"tuned": {"F1": [0.8 + gain, 0.81 + gain, 0.82 + gain]}},
            "two": {"tuned": {"F1": [0.8, 0.81, 0.82]}},
        }

    def experiment(gains):
        sets = {name: lambda gain=gain: gain for name, gain in gains.items()}
        claims = (Claim("one", "two", "F1"),)
        return Experiment("n", "Title: a", "S.", "P.", sets, run, {"F1": True}, claims=claims)

    monkeypatch.setattr(pages, "PAGE", tmp_path / "results.md")
    other = Experiment("o", "Title: a, too", "S.", "P.", {"x": lambda: 0.5}, run, {"F1": True})
    first = experiment(ahead)
    monkeypatch.setattr(pages, "EXPERIMENTS", {"n": first, "o": other})
    pages.PAGE.write_text(f"{pages.HEAD}\n\n## Title: a, too\n\nAs it was.\n")
    write_section(first, [], write=True)
    whole = pages.PAGE.read_text()
    for name in ahead:
        write_section(experiment(ahead), [name], write=True)
        assert pages.PAGE.read_text() == whole
    write_section(experiment(ahead | {"user, item": -0.05}), ["user, item"], write=True)
    expected = experiment(ahead | {"user, item": -0.05})
    found = pages.PAGE.read_text()
    assert section(expected, [], tmp_path).strip() in found
    assert "contradicted on user, item, holds on user, item, week and user" in found
    assert found.endswith("## Title: a, too\n\nAs it was.\n")
