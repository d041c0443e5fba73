from concurrent.futures import ThreadPoolExecutor

from hypothesis import given
from hypothesis import strategies as st

from xs2a_sandbox.redaction.values import Remembered


def remembered(*texts: str, limit: int = 100) -> Remembered:
    memory = Remembered(limit)
    for text in texts:
        memory.add(text, f"<{len(text)}>")
    return memory


def test_a_remembered_value_is_found_inside_other_texts() -> None:
    memory = remembered("Grünwald")

    assert memory.occurs_in("account of grünwald.")
    assert memory.occurs_in("Grünwald")
    assert memory.replace("GRÜNWALD and grünwald!") == "<8> and <8>!"
    assert not memory.occurs_in("Grünwal")
    assert memory.replace("nothing here") == "nothing here"


def test_the_longest_value_is_replaced_first() -> None:
    assert remembered("Anna G", "Anna Grünwald", "wald!").replace("-Anna Grünwald!-") == "-<13>!-"


def test_short_and_long_values_and_ordinary_words_are_not_searched() -> None:
    assert not remembered("Anna").occurs_in("Anna")
    assert not remembered("x" * 201).occurs_in("x" * 201)
    assert not remembered("accounts", "VALID", "application/json").occurs_in("/v1/accounts valid application/json")


def test_remembered_values_are_known() -> None:
    memory = remembered("Grünwald")
    assert memory.knows("grünwald")
    assert not memory.knows("Grünwald Anna")
    assert not memory.knows("")


def test_letters_with_a_longer_lower_case_are_found() -> None:
    assert remembered("İzmir", "Straße").replace("İİ-İzmir-STRASSE-straße-") == "İİ-<5>-STRASSE-<6>-"


def test_threads_do_not_disturb_each_other() -> None:
    memory = Remembered(limit=50)

    def work(number: int) -> str:
        memory.add(f"aaaaa{number}", "x")
        return memory.replace("aaaaa1 aaaaa22 aaaaa333" * 20)

    with ThreadPoolExecutor(8) as pool:
        assert len(list(pool.map(work, range(2000)))) == 2000
    assert len(memory._order) == 50


# Ordinary words, which would not be remembered, do not consist of these letters.
@given(st.lists(st.text("vwxyz", min_size=5, max_size=8), unique=True, max_size=60))
def test_the_oldest_values_are_forgotten(texts: list[str]) -> None:
    memory = remembered(*texts, limit=5)

    assert [text for text in texts if memory.knows(text)] == texts[-5:]
    assert len(memory._order) == sum(map(len, memory._by_start.values())) <= 5
