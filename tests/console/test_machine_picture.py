"""The picture of a state machine: boxes that do not overlap, and all arrows, none of which crosses a box."""

import re

import pytest

from tests.console.browser import Browser, payment
from xs2a_sandbox.bank.domain.lifecycle import LOGIN, MACHINES, NONE, PAYMENT, SCA, Machine, Transition
from xs2a_sandbox.features.console.machine_picture import ArrowLine, lay_out

ALL = pytest.mark.parametrize("machine", [*MACHINES, LOGIN], ids=lambda machine: machine.name)
_STEPS = 20
"""Points that are looked at on each curve."""


def points(line: ArrowLine) -> list[tuple[float, float]]:
    """Walk along the path, which has only curves and vertical lines."""
    found: list[tuple[float, float]] = []
    for command, text in re.findall(r"([MCV])([^MCV]+)", line.path):
        numbers = [float(number) for number in text.split()]
        if command == "V":
            x, y = found[-1]
            found += [(x, y + (numbers[0] - y) * step / _STEPS) for step in range(1, _STEPS + 1)]
        elif command == "M":
            found.append((numbers[0], numbers[1]))
        else:
            corners = [found[-1], *zip(numbers[::2], numbers[1::2], strict=True)]
            for t in (step / _STEPS for step in range(1, _STEPS + 1)):
                shares = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3)
                x, y = (sum(share * one[axis] for share, one in zip(shares, corners, strict=True)) for axis in (0, 1))
                found.append((x, y))
    return found


@ALL
def test_a_phone_shows_the_whole_picture_at_three_quarters_of_its_size_or_more(machine: Machine) -> None:
    """A phone has 290 pixels for it."""
    assert lay_out(machine).width * 3 / 4 <= 290


@ALL
def test_no_boxes_overlap_and_all_are_inside(machine: Machine) -> None:
    picture = lay_out(machine)
    assert {box.state for box in picture.boxes if not box.is_point} == {*machine.states}
    for box in picture.boxes:
        assert 0 < box.x < box.x + box.width < picture.width
        assert 0 < box.y < box.y + box.height < picture.height
        for other in picture.boxes:
            is_beside = box.x + box.width < other.x or other.x + other.width < box.x
            assert other is box or is_beside or box.y + box.height < other.y or other.y + other.height < box.y


@ALL
def test_every_arrow_leads_down_from_its_box_to_its_box_and_crosses_none(machine: Machine) -> None:
    picture = lay_out(machine)
    boxes = {box.state: box for box in picture.boxes}
    assert {(line.start, line.end) for line in picture.lines} == machine.arrows
    for line in picture.lines:
        way, start, end = points(line), boxes[line.start], boxes[line.end]
        assert start.x <= way[0][0] <= start.x + start.width
        assert start.y < way[0][1] <= start.y + start.height
        assert end.x <= way[-1][0] <= end.x + end.width
        assert end.y - 10 < way[-1][1] < end.y + end.height / 2
        assert [y for _, y in way] == sorted(y for _, y in way)
        others = [box for box in picture.boxes if box not in (start, end)]
        crossed = [b for b in others for x, y in way if b.x < x < b.x + b.width and b.y < y < b.y + b.height]
        assert not crossed
        assert line.events


def test_a_state_is_below_all_that_lead_to_it() -> None:
    rows = {box.state: box.y for box in lay_out(PAYMENT).boxes}
    assert all(rows[before] < rows[to] for before, to in PAYMENT.arrows)
    assert rows[NONE] < rows["RCVD"] < rows["PATC"] < rows["ACTC"] < rows["ACSP"] < rows["ACSC"] == rows["ACCC"]


def test_a_state_that_nothing_leads_to_is_not_next_to_the_first() -> None:
    assert PAYMENT.without_way == {"PDNG"}
    rows = {box.state: box.y for box in lay_out(PAYMENT).boxes}
    assert rows["RCVD"] < rows["PDNG"] < rows["CANC"]


def test_states_that_lead_to_each_other_are_not_drawn() -> None:
    circle = Machine(
        "circle",
        frozenset(),
        (Transition((NONE, "two"), "go", "one"), Transition(("one",), "go", "two")),
        "Circles",
        (),
        {"one": "1", "two": "2"},
    )
    with pytest.raises(ValueError, match="two, one lead to each other"):
        lay_out(circle)


def test_the_way_of_a_payment_is_marked(browser: Browser) -> None:
    id = payment(browser)
    browser.page(f"/_sandbox/console/bank/payments/{id}", {"event": "authorised by all"}, 303)
    browser.app_asks("GET", f"/v1/payments/sepa-credit-transfers/{id}/status")
    page = browser.page(f"/_sandbox/console/bank/payments/{id}")
    taken = re.findall(r'<g class="arrow taken"><title>([^<]+)</title>', page)
    assert taken == ["authorised by all", "initiate"]
    places = dict(re.findall(r'<g class="box (\w*)[^"]*">.*?<text[^>]*>(\w+)</text>', page))
    assert places == {"past": "RCVD", "next": "ACCC", "here": "ACSP", "": "PDNG"} | {"": places[""]}
    assert "The beginning leads to RCVD (taken)." in page


def test_the_states_are_listed_with_their_meanings_and_the_words_of_responses(browser: Browser) -> None:
    id = payment(browser)
    started = browser.app_asks("POST", f"/v1/payments/sepa-credit-transfers/{id}/authorisations", json={}).json()
    page = browser.page(f"/_sandbox/console/bank/authorisations/{started['authorisationId']}")
    listed = page.partition('<ul class="states">')[2].partition("</ul>")[0]
    assert re.findall(r'<li class="here" aria-current="step">(.*?)</li>', listed) == [
        f'<span class="state">begun</span> <code>received</code> <small>{SCA.meanings["begun"]}</small>'
    ]


def test_a_legend_explains_only_what_the_picture_shows(browser: Browser) -> None:
    def legend(page: str) -> list[str]:
        shown = page.partition('aria-label="Legend">')[2].partition("</ul>")[0]
        return [text.strip() for text in re.findall(r"</svg>([^<]+)</li>", shown)]

    document = f"/_sandbox/console/bank/payments/{payment(browser)}"
    assert legend(browser.page(document)) == ["path taken", "current state", "can follow", "final state"]
    browser.page(document, {"event": "refused"}, 303)
    ended = browser.page(document)
    assert legend(ended) == ["path taken", "current state", "passed before", "final state"]
    assert "<small>pending, only in test data</small>" in ended


def test_a_document_of_the_test_data_has_no_way_from_the_beginning(browser: Browser) -> None:
    consent = "9d3c41b2-5f0e-4c6a-8b1d-2e7f60a4c911"
    browser.app_asks("GET", f"/v1/consents/{consent}/status")
    page = browser.page(f"/_sandbox/console/bank/consents/{consent}")
    assert 'class="box here"' in page
    assert 'class="arrow taken"' not in page
