import ipaddress
import re
from datetime import date
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xs2a_sandbox.documents.formats import is_date_time, is_iban, is_ip
from xs2a_sandbox.errors import ConfigError
from xs2a_sandbox.redaction.pseudonyms import FILE, Pseudonyms, compact_iban, compact_pan, ensure_key, fingerprint

KEY = bytes(range(32))
MINE = Pseudonyms(KEY)
IBANS = [
    "AT611904300234573201",
    "DE89370400440532013000",
    "GB82WEST12345698765432",
    "NO9386011117947",
    "MT84MALT011000012345MTLCAST001S",
    "FR1420041010050500013M02606",
    "NL91ABNA0417164300",
]
PANS = ["4111111111111111", "378282246310005", "5555 5555 5555 4444", "6011-1111-1111-1117"]
TEXTS = st.text(min_size=1, max_size=40)


class TestKey:
    def test_the_key_is_created_once_and_readable_only_by_its_owner(self, tmp_path: Path) -> None:
        key = ensure_key(tmp_path / "conf")

        assert len(key) == 32
        assert ensure_key(tmp_path / "conf") == key
        assert (tmp_path / "conf" / FILE).read_text().strip() == key.hex()
        assert (tmp_path / "conf" / FILE).stat().st_mode & 0o777 == 0o600
        assert ensure_key(tmp_path / "other") != key

    @pytest.mark.parametrize("content", [b"", b"short", b"g" * 64, b"\xff" * 64, b"0" * 63, b"0" * 66])
    def test_a_file_without_a_key_is_an_error(self, tmp_path: Path, content: bytes) -> None:
        (tmp_path / FILE).write_bytes(content)

        with pytest.raises(ConfigError, match="contains no key of 64 hexadecimal digits"):
            ensure_key(tmp_path)

    def test_a_folder_that_cannot_be_created_is_an_error(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()

        with pytest.raises(ConfigError, match="--confdir DIR"):
            ensure_key(tmp_path / "file")

    def test_the_fingerprint_distinguishes_keys(self) -> None:
        other = b"\1" * 32
        assert fingerprint(KEY) == fingerprint(KEY) != fingerprint(other)
        assert len(bytes.fromhex(fingerprint(KEY))) == 4
        assert fingerprint(KEY) not in KEY.hex()


class TestShaped:
    @given(TEXTS)
    def test_a_pseudonym_keeps_length_case_and_digits_but_not_the_text(self, text: str) -> None:
        new = MINE.shape(text)
        assert len(new) == len(text)
        for old, made in zip(text, new, strict=True):
            if old.isascii():
                assert (old.isdigit(), old.isupper(), old.islower()) == (
                    made.isdigit(),
                    made.isupper(),
                    made.islower(),
                )
                assert old == made or old.isalnum()
            else:
                assert made == old or made.isascii()
        assert new != text or not any(c.isalnum() for c in text.lstrip("0"))

    @given(TEXTS)
    def test_a_pseudonym_depends_only_on_key_and_value(self, text: str) -> None:
        assert Pseudonyms(KEY).shape(text) == MINE.shape(text)

    @pytest.mark.parametrize("length", [1, 2, 3])
    def test_short_values_have_different_pseudonyms_that_differ_from_the_value(self, length: int) -> None:
        values = ["".join(letters) for letters in product("abcdefghijklmnopqrstuvwxyz", repeat=length)][:5000]
        made = [MINE.shape(value) for value in values]
        assert len(set(made)) == len(values)
        assert not [value for value, new in zip(values, made, strict=True) if value == new]

    @given(st.sets(st.integers(1, 10**8), min_size=2, max_size=30))
    def test_different_numbers_have_different_pseudonyms(self, numbers: set[int]) -> None:
        assert len({MINE.shape(str(number)) for number in numbers}) == len(numbers)

    def test_another_key_gives_other_pseudonyms(self) -> None:
        assert MINE.shape("Anna Grünwald") != Pseudonyms(b"\1" * 32).shape("Anna Grünwald")

    def test_letters_of_other_scripts_and_signs_are_replaced(self) -> None:
        new = MINE.shape("Žižkov 田中 é ٣½ €🙂")
        assert not set(new) & set("Žž田中\u0301٣½")
        assert new[6] == " "
        assert new.endswith("€🙂")
        assert MINE.shape("\ud800") != "\ud800"

    @given(st.text("0123456789abcdef", min_size=16, max_size=64).filter(lambda text: not text.isdigit()))
    def test_hexadecimal_stays_hexadecimal(self, text: str) -> None:
        assert set(MINE.shape(text)) <= set("0123456789abcdef")
        assert MINE.shape(text) != text

    def test_an_identifier_has_the_same_pseudonym_as_number_and_as_text(self) -> None:
        for identifier in ("12345678", "987654321012", "40000000"):
            assert MINE.shape(identifier) == MINE.number(identifier)

    def test_a_long_text_is_replaced_quickly(self) -> None:
        assert len(MINE.shape("Anna " * 200_000)) == 1_000_000


class TestIban:
    @pytest.mark.parametrize("iban", IBANS)
    def test_a_pseudonym_is_a_valid_iban_of_the_same_country_and_length(self, iban: str) -> None:
        new = MINE.iban(iban)
        assert is_iban(iban)
        assert is_iban(new)
        assert (new[:2], len(new)) == (iban[:2], len(iban))
        assert new[4:] != iban[4:]

    @pytest.mark.parametrize("iban", IBANS)
    def test_blanks_and_case_are_kept_and_do_not_change_the_account(self, iban: str) -> None:
        spaced = " ".join(iban[n : n + 4] for n in range(0, len(iban), 4))
        assert MINE.iban(spaced).replace(" ", "") == MINE.iban(iban)
        assert [c == " " for c in MINE.iban(spaced)] == [c == " " for c in spaced]
        assert MINE.iban(iban.lower()) == MINE.iban(iban).lower()

    @given(st.sets(st.integers(0, 10**11 - 1), min_size=2, max_size=20))
    def test_different_accounts_have_different_pseudonyms(self, numbers: set[int]) -> None:
        def iban(number: int) -> str:
            bban = f"{number:016}"
            return f"AT{98 - int(f'{bban}102900') % 97:02}{bban}"

        assert all(map(is_iban, map(iban, numbers)))
        made = {MINE.iban(iban(number)) for number in numbers}
        assert all(map(is_iban, made))
        assert len(made) == len(numbers)

    def test_other_text_has_no_compact_iban(self) -> None:
        for text in ("AT611904300234573202", "AT61", "", "Anna AT611904300234573201", "A" * 40, "１" * 20):
            assert compact_iban(text) is None


class TestPan:
    @pytest.mark.parametrize("pan", PANS)
    def test_a_pseudonym_has_a_valid_check_digit(self, pan: str) -> None:
        new = MINE.pan(pan)
        assert compact_pan(pan)
        assert compact_pan(new)
        assert new != pan
        assert [c.isdigit() for c in new] == [c.isdigit() for c in pan]

    def test_other_text_has_no_compact_card_number(self) -> None:
        for text in ("4111111111111112", "411", "x" * 16, "4" * 40):
            assert compact_pan(text) is None


class TestHosts:
    def test_labels_are_replaced_and_the_top_level_domain_is_kept(self) -> None:
        assert re.fullmatch(r"[a-z]{4}\.[a-z]{9}-\d{2}\.at", MINE.host("Anna.gruenwald-12.at"))
        assert MINE.host("anna.at") == MINE.host("ANNA.AT") != "anna.at"
        assert MINE.host("www.anna.at").partition(".")[2] == MINE.host("anna.at")

    @pytest.mark.parametrize("name", ["gruenwald", "anna.4711", "anna.x-y"])
    def test_an_unknown_top_level_domain_is_replaced(self, name: str) -> None:
        assert MINE.host(name).rpartition(".")[2] != name.rpartition(".")[2]

    def test_a_known_host_is_kept_but_known_labels_are_not(self) -> None:
        mine = Pseudonyms(KEY, ["anna.at", "api", "4711"])
        assert mine.host("anna.at") == "anna.at"
        assert mine.host("4711.api.at") == MINE.host("4711.api.at")
        assert not {"4711", "api"} & set(mine.host("4711.api.at").split("."))


class TestTexts:
    @pytest.mark.parametrize("account", [*IBANS, *PANS])
    def test_an_account_in_a_text_has_the_same_pseudonym_as_elsewhere(self, account: str) -> None:
        alone = MINE.iban(account) if account in IBANS else MINE.pan(account)
        assert MINE.text(account) == alone
        assert alone in MINE.text(f"from {account}, to you")
        for after in ("rent", "und 12 andere", "4711", "danke fuer alles, auf bald"):
            assert alone in MINE.text(f"from {account} {after}")

    def test_a_text_without_accounts_is_replaced_as_a_whole(self) -> None:
        for text in ("Anna Grünwald", "12345", "AT61 1904 3002 3457 3202", "", "2fa81bc0aa11ffee", "a@b"):
            assert MINE.text(text) == MINE.shape(text)

    @given(TEXTS)
    def test_the_length_is_kept(self, text: str) -> None:
        assert len(MINE.text(text)) == len(text)

    def test_a_long_text_with_accounts_is_replaced_quickly(self) -> None:
        for text in ("a" * 99_999, "1" * 99_999, "1 " * 30_000, "AT61 " * 10_000, "a@" * 50_000, "a.b@" * 20_000):
            assert len(MINE.text(text)) == len(text)


class TestOthers:
    @given(st.ip_addresses(v=4))
    def test_ipv4_pseudonyms_are_documentation_addresses(self, address: ipaddress.IPv4Address) -> None:
        new = ipaddress.ip_address(MINE.ip(str(address)))
        nets = ["192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24"]
        assert any(new in ipaddress.ip_network(net) for net in nets)
        assert new.packed[-1] not in (0, 255)

    @given(st.ip_addresses(v=6))
    def test_ipv6_pseudonyms_are_documentation_addresses(self, address: ipaddress.IPv6Address) -> None:
        assert ipaddress.ip_address(MINE.ip(str(address))) in ipaddress.ip_network("2001:db8::/32")

    def test_different_notations_of_an_address_have_the_same_pseudonym(self) -> None:
        assert MINE.ip("::1") == MINE.ip("0:0:0:0:0:0:0:1")
        assert is_ip(MINE.ip("fe80::1%eth0"))
        assert len(MINE.ip("no address")) == len("no address")

    @given(st.decimals(allow_nan=False, allow_infinity=False, places=2, min_value=-(10**15), max_value=10**15))
    def test_numbers_keep_their_form(self, number: object) -> None:
        old, new = str(number), MINE.number(str(number))
        assert [c if c in "-.eE+" else "9" for c in new] == [c if c in "-.eE+" else "9" for c in old]
        assert new.lstrip("-")[0] != "0" or old.lstrip("-")[0] == "0"

    @pytest.mark.parametrize("number", ["1e5", "-0.5e-12", "12E+400", "9" * 5000])
    def test_numbers_of_json_are_replaced(self, number: str) -> None:
        assert MINE.number(number) != number
        assert len(MINE.number(number)) == len(number)

    @given(st.dates(min_value=date(3, 1, 1)), st.dates(min_value=date(3, 1, 1)))
    def test_dates_are_shifted_by_the_same_number_of_days(self, one: date, other: date) -> None:
        new, second = (date.fromisoformat(MINE.date(day.isoformat())) for day in (one, other))
        assert new != one
        assert new - one == second - other

    def test_the_time_of_day_is_kept(self) -> None:
        new = MINE.date("2026-11-21T08:37:14Z")
        assert is_date_time(new)
        assert new.endswith("T08:37:14Z")
        assert MINE.date("0001-01-01") != "0001-01-01"

    def test_known_values_are_kept(self) -> None:
        known = ["Anna", IBANS[0], PANS[0], "10.1.2.3", "12345", "2026-11-21"]
        mine = Pseudonyms(KEY, known)
        for text in known:
            for kind in (mine.shape, mine.iban, mine.pan, mine.ip, mine.number, mine.date):
                assert kind(text) == text
        assert mine.shape("Berta") == MINE.shape("Berta") != "Berta"
