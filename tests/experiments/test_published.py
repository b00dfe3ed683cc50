"""The published figures, against the sums and averages that the paper prints below them."""

from __future__ import annotations

import pytest

from nnfuzz.experiments.published import (
    CRITERIA,
    SUBJECTS,
    TABLE4,
    TABLE4_AVERAGE,
    TABLE5,
    TABLE5_AVERAGE,
    TABLE6,
    TABLE6_SUM,
    TABLE7,
    Row,
    pair,
    single,
)


def means(table: dict[str, Row]) -> list[float]:
    return [sum(column) / len(column) for column in zip(*table.values(), strict=True)]


# The paper cuts two of its averages off where it rounds all others.
CUT_OFF = {("4", 9): (45.657, 45.6), ("5", 4): (86.46, 86.4)}


@pytest.mark.parametrize(("name", "table", "printed"), [("4", TABLE4, TABLE4_AVERAGE), ("5", TABLE5, TABLE5_AVERAGE)])
def test_averages_are_the_printed_ones_but_for_two(name: str, table: dict[str, Row], printed: Row) -> None:
    for column, (mean, shown) in enumerate(zip(means(table), printed, strict=True)):
        if (name, column) in CUT_OFF:
            assert (round(mean, 3), shown) == CUT_OFF[name, column]
        else:
            assert shown == pytest.approx(mean, abs=0.0501), (name, column)


def test_the_stray_number_in_the_header_of_table_4_is_no_figure_of_lenet_1() -> None:
    with_stray = {**TABLE4, "lenet1": (*TABLE4["lenet1"][:-1], 35.4)}
    assert round(means(TABLE4)[-1], 1) == TABLE4_AVERAGE[-1]
    assert abs(means(with_stray)[-1] - TABLE4_AVERAGE[-1]) > 1


def test_sums_are_the_printed_ones() -> None:
    sums = [sum(column) for column in zip(*TABLE6.values(), strict=True)]
    assert sums == pytest.approx(TABLE6_SUM, abs=1e-9)


def test_every_row_has_its_figures() -> None:
    assert set(TABLE4) == set(TABLE6) == set(TABLE7) == set(SUBJECTS)
    assert set(TABLE5) == {name for name, subject in SUBJECTS.items() if subject.epochs}
    for table, width in ((TABLE4, 12), (TABLE5, 12), (TABLE6, 6)):
        assert {len(row) for row in table.values()} == {width}
    assert all(set(rows) == {1, 50, 100} and {len(r) for r in rows.values()} == {6} for rows in TABLE7.values())


def test_coverage_grew_or_stayed() -> None:
    for row in TABLE4.values():
        assert all(after >= before for before, after in zip(row[::2], row[1::2], strict=True))


def test_figures_by_name() -> None:
    assert pair(TABLE4, "lenet5", "tknc") == (76.3, 83.2)
    assert pair(TABLE4, None, "nc") is None
    assert pair(TABLE4, "lenet5", "nc-raw") is None
    assert [single(TABLE6["vgg16"], c) for c in CRITERIA] == [2.2, 6.3, 8.1, 8.5, 6.8, 8.3]
    assert single(None, "nc") is None
