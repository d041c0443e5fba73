import re
from concurrent.futures import ThreadPoolExecutor
from threading import get_ident

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from xs2a_sandbox.documents.formats import is_iban, is_ip, is_uuid
from xs2a_sandbox.redaction.marked_members import MarkedMembers
from xs2a_sandbox.redaction.pseudonyms import compact_iban
from xs2a_sandbox.redaction.rules import DEFAULT, RedactionRules
from xs2a_sandbox.redaction.values import ValueRedactor

KEY = b"k" * 32
IBAN = "AT611904300234573201"
UUID = "99391c7e-ad88-49ec-a2ad-99ddcb1f7721"


@pytest.fixture
def censor() -> ValueRedactor:
    return ValueRedactor(KEY, DEFAULT, words=["pigeon-post"])


class TestValues:
    @pytest.mark.parametrize(
        ("name", "text"),
        [
            ("anything", ""),
            ("anything", "true"),
            ("anything", "2026-11-21"),
            ("anything", UUID),
            ("transactionStatus", "ACSP"),
            ("currency", "EUR"),
            ("amount", "-1234.50"),
            ("exchangeRate", "1.0640"),
            ("resourceId", "1234"),
            ("href", "/v1/accounts"),
            ("method", "GET"),
            ("anything", "RJCT"),
            ("anything", "application/json"),
            ("anything", "21.11.2026"),
            ("anything", "11/21/2026"),
            ("anything", "-1834,50"),
        ],
    )
    def test_harmless_values_are_kept(self, censor: ValueRedactor, name: str, text: str) -> None:
        assert censor.member(name, text) == text
        assert censor.count == 0

    def test_local_urls_of_the_app_are_kept_except_for_replaced_values(self, censor: ValueRedactor) -> None:
        url = "http://localhost:7777/back/to-shop"
        assert censor.member("redirectUri", url) == url
        assert censor.member("redirectUri", "https://shop.example/back") != "https://shop.example/back"
        new = censor.member("creditorName", "Gruenwald")
        assert censor.url("http://127.0.0.1/back/Gruenwald") != "http://127.0.0.1/back/Gruenwald"
        assert censor.url("http://[::1]:80/back/AB12") != "http://[::1]:80/back/AB12"
        assert new != "Gruenwald"

    @pytest.mark.parametrize("name", ["device", "PSU-Device-ID", "device_ids", "imei"])
    def test_the_uuid_of_a_device_is_replaced_everywhere(self, censor: ValueRedactor, name: str) -> None:
        new = censor.member(name, UUID)
        assert is_uuid(new)
        assert new != UUID
        assert (censor.member("anything", UUID), censor.member("resourceId", UUID)) == (new, new)
        assert censor.url(f"/v1/accounts/{UUID}") == f"/v1/accounts/{new}"

    @pytest.mark.parametrize(
        ("name", "text"),
        [
            ("creditorName", "Anna Grünwald"),
            ("x_customer", "AB12"),
            ("phone", "+43 664 1234567"),
            ("debtorTaxNumber", "12-345/6789"),
            ("pinCode", "4711"),
            ("deviceId", UUID),
            ("anything", "1234"),
            ("status", "anna@example.com"),
            ("status", "YW5uYUBleGFtcGxlLmNvbQ"),
            ("code", IBAN),
            ("amount", "4111111111111111"),
            ("date", "21.11.1980"),
            ("currency", "Anna Grünwald"),
            ("token", "2026-11-21"),
            ("dateOfBirth", "1980-05-17"),
            ("remittance", f"rent, from {IBAN}"),
        ],
    )
    def test_personal_values_are_replaced(self, censor: ValueRedactor, name: str, text: str) -> None:
        assert text not in censor.member(name, text)
        assert censor.count == 1

    def test_a_pseudonym_has_the_kind_of_its_value(self, censor: ValueRedactor) -> None:
        assert is_iban(censor.value(IBAN))
        assert is_ip(censor.value("10.1.2.3"))
        assert compact_iban(censor.value("AT61 1904 3002 3457 3201")) == censor.value(IBAN)
        assert censor.value("ABC-12 x").translate(str.maketrans("", "", "-  ")).isalnum()

    @pytest.mark.parametrize(
        "quoted",
        [
            IBAN,
            "AT61 1904 3002 3457 3201",
            IBAN.lower(),
            "4111 1111 1111 1111",
            "4111111111111111",
            "anna.g@mail.example",
        ],
    )
    @pytest.mark.parametrize("text", ["rent, {}", "{}: rent", "Konto {} von Anna Grünwald 12", "({})", '{{"a":"{}"}}'])
    def test_an_account_in_a_text_has_the_same_pseudonym_as_elsewhere(
        self, censor: ValueRedactor, text: str, quoted: str
    ) -> None:
        new = censor.value(text.format(quoted))
        assert censor.value(quoted) in new
        assert len(new) == len(text.format(quoted))
        assert not {"rent", "Konto", "Anna", "12"} & set(re.split(r"\W+", new))

    def test_several_accounts_in_one_text_are_replaced(self, censor: ValueRedactor) -> None:
        other = "DE89370400440532013000"
        assert censor.value(f"{IBAN} {other}") == f"{censor.value(IBAN)} {censor.value(other)}"

    def test_a_client_can_quote_the_account_from_an_answer(self) -> None:
        recorded = ValueRedactor(KEY, DEFAULT)
        given = recorded.value(IBAN)
        replaying = ValueRedactor(KEY, DEFAULT, unchanged=[given])
        assert replaying.value(f"rent for {given}") == recorded.value(f"rent for {IBAN}")

    def test_secrets_are_dropped(self, censor: ValueRedactor) -> None:
        assert censor.member("access_token", "2fa81bc0") == "dropped"
        assert censor.member("anything", "x", secret=True) == "dropped"
        assert censor.number("otp", "123456") == "0"

    def test_a_member_code_is_not_an_authorisation_code(self, censor: ValueRedactor) -> None:
        assert censor.member("code", "FORMAT_ERROR") == "FORMAT_ERROR"
        assert censor.query("code=FORMAT_ERROR&state=ok") == "code=dropped&state=dropped"

    def test_small_numbers_in_a_query_are_kept_as_in_json_but_not_in_forms(self, censor: ValueRedactor) -> None:
        assert censor.query("antal=10&side=2") == "antal=10&side=2"
        assert censor.query("jthc%5Bsize%5D=5&jthc[after]=") == "jthc%5Bsize%5D=5&jthc[after]="
        assert censor.query("year=1984&dob=1984&pin=1984").startswith("year=1984&dob=")
        assert "1984" not in censor.query("dob=1984&pin=1984&customer=1984")
        assert "12345" not in censor.query("antal=12345")
        assert "10" not in censor.form("antal=10")

    @pytest.mark.parametrize(
        ("name", "number"),
        [
            *(("n", "0"), ("n", "1234"), ("n", "-12.50"), ("amount", "123456789"), ("totalCents", "412655")),
            *(("minor", "61500"), ("centavos", "350000"), ("kwotaGr", "115705"), ("booked", "-268417")),
        ],
    )
    def test_harmless_numbers_are_kept(self, censor: ValueRedactor, name: str, number: str) -> None:
        assert censor.number(name, number) == number

    @pytest.mark.parametrize(
        "number", ["12345", "4111111111111111", "48.208174", "12345678.5", "4.111111111111111e15", "-98765432"]
    )
    def test_other_numbers_are_replaced(self, censor: ValueRedactor, number: str) -> None:
        assert censor.number("n", number) != number
        assert len(censor.number("n", number)) == len(number)

    def test_identifiers_have_the_same_pseudonym_everywhere(self, censor: ValueRedactor) -> None:
        for identifier in ("abc-1", "12345678", IBAN, "a/b", "1234", "v1", "consents", "4111111111111111"):
            made = censor.identifier(identifier)
            assert censor.member("consentId", identifier) == made
            if identifier.isdigit():
                assert censor.number("id", identifier) == made
            path = censor.url("/v1/consents/" + identifier.replace("/", "%2F"))
            assert path == "/v1/consents/" + made.replace("/", "%2F")

    @pytest.mark.parametrize(
        "text",
        [
            "de", "de,en;q=0.8", "de-AT,de;q=0.9,en;q=0.8,*;q=0.5", "gzip, deflate, br", "no-cache", "GET, POST",
            "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "openid accounts:read", "timeout=5",
        ],
    )  # fmt: skip
    def test_header_fields_and_codes_made_of_words_are_kept(self, censor: ValueRedactor, text: str) -> None:
        assert censor.redact_carefully(text) == text
        assert censor.member("scope", text) == text

    @pytest.mark.parametrize(
        "number", ["4111 1111 1111 1111", "4111-1111-1111-1111", "0664 123 456", "0664/123/456", "1968:0417:33"]
    )
    @pytest.mark.parametrize("form", ["{}", "AIS {}", "AIS:{}", "PIS {} AIS", "en;{}"])
    def test_a_long_number_in_short_groups_is_replaced(self, censor: ValueRedactor, number: str, form: str) -> None:
        text = form.format(number)
        for new in (censor.redact_carefully(text), censor.identifier(text), censor.prose(text)):
            assert number not in new
            assert len(new) == len(text)


class TestNames:
    @pytest.mark.parametrize("name", ["iban", "_links", "x_customer"])
    def test_member_names_are_kept(self, censor: ValueRedactor, name: str) -> None:
        assert censor.name(name) == name

    @pytest.mark.parametrize("name", [IBAN, "anna@example.com", "123456789", "Anna Grünwald", "YW5uYUBleGFtcGxlLmNvbQ"])
    def test_data_used_as_names_are_replaced(self, censor: ValueRedactor, name: str) -> None:
        assert censor.name(name) == censor.value(name) != name


class TestUrls:
    @pytest.mark.parametrize(
        "url",
        [
            "/",
            "/v1/consents",
            "/v1.3/pigeon-post/12",
            f"/v1/consents/{UUID}/status",
            "/v1/accounts?bookingStatus=booked&withBalance=true&dateFrom=2026-01-01&page=2&limit=100&deltaList=false",
            "http://127.0.0.1:3000/callback",
            "http://localhost:3000/",
        ],
    )
    def test_harmless_urls_are_kept(self, censor: ValueRedactor, url: str) -> None:
        assert censor.url(url) == url

    @pytest.mark.parametrize(
        "url",
        [
            "/v1/accounts/SECRET99",
            "/v1/accounts;jsessionid=SECRET99",
            "//SECRET99/v1",
            "/v1/%53ECRET99",
            "/v1/accounts?SECRET99",
            "/v1/accounts?a=SECRET99",
            "/v1/accounts?a=b&a=%53ECRET99#SECRET99",
            "https://SECRET99@tpp.example/",
            "https://user:SECRET99@tpp.example/",
            "https://tpp.example/SECRET99?state=SECRET99",
            "https://SECRET99/",
            "https://SECRET99.example/",
            "https://www.secret99.tpp.example:8443/callback",
            "https://tpp.SECRET99",
            "https://secret99.example./",
            "/v1?next=https%3A%2F%2Fsecret99.example%2F",
            "secret99://callback",
            "mailto:SECRET99",
            "/v1?next=%2Fv1%2FSECRET99%3Fa%3DSECRET99",
            "/?a=" * 5000 + "SECRET99",
        ],
    )
    def test_personal_parts_of_urls_are_replaced(self, censor: ValueRedactor, url: str) -> None:
        from urllib.parse import unquote

        assert "secret99" not in unquote(unquote(censor.url(url))).lower()

    def test_the_banks_own_host_and_path_are_kept(self, censor: ValueRedactor) -> None:
        assert censor.url("https://10.1.2.3:8443/gateway/v1/consents") != "https://10.1.2.3:8443/gateway/v1/consents"
        assert censor.trust("https://me:pw@10.1.2.3:8443/gateway") == "https://10.1.2.3:8443/gateway"
        assert censor.url("https://10.1.2.3:8443/gateway/v1/consents") == "https://10.1.2.3:8443/gateway/v1/consents"
        assert censor.trust("garbage") == "dropped"

    def test_the_banks_host_is_recognised_in_every_notation(self, censor: ValueRedactor) -> None:
        censor.trust("https://API.bank.example:8443/psd2")
        for host in ("api.bank.example", "API.bank.example:8443", "api.Bank.example:443"):
            assert censor.url(f"https://{host}/v1") == f"https://{host}/v1"
        assert censor.url("https://anna.api.bank.example/") != "https://anna.api.bank.example/"

    def test_a_bank_can_have_several_paths(self, censor: ValueRedactor) -> None:
        for bank in ("https://api.bank.example", "https://api.bank.example/gateway", "https://api.bank.example/berlin"):
            censor.trust(bank)
        for path in ("gateway", "berlin"):
            assert censor.url(f"https://api.bank.example/{path}/v1") == f"https://api.bank.example/{path}/v1"

    def test_another_host_is_replaced_by_a_host_and_the_same_everywhere(self, censor: ValueRedactor) -> None:
        host = censor.host("anna-gruenwald.shop.example")
        assert re.fullmatch(r"[a-z]{4}-[a-z]{9}\.[a-z]{4}\.example", host)
        assert not {"anna", "gruenwald", "shop"} & set(re.split("[.-]", host))
        assert censor.host("Anna-Gruenwald.shop.example:8443") == f"{host}:8443"
        assert censor.url("http://me:pw@anna-gruenwald.shop.example/v1") == f"http://{host}/v1"

    def test_a_host_from_a_recording_is_kept(self) -> None:
        link = ValueRedactor(KEY, DEFAULT).url("https://anna.shop.example:8443/api/anna")
        replaying = ValueRedactor(KEY, DEFAULT, unchanged=[link, "api", "shop"])
        host = link.split("/")[2]
        assert replaying.url(f"https://{host}/v1") == f"https://{host}/v1"
        assert replaying.host(host.partition(":")[0]) == host.partition(":")[0]
        # Known words do not make a known host.
        assert replaying.url("https://anna.shop.example:8443/api/anna") == link

    def test_a_password_is_removed_from_a_link(self, censor: ValueRedactor) -> None:
        assert censor.url("https://me:geheim@127.0.0.1:8443/callback") == "https://127.0.0.1:8443/callback"
        assert censor.count == 1

    @given(st.text(max_size=60))
    @example("A0")
    def test_any_text_can_be_redacted(self, text: str) -> None:
        censor = ValueRedactor(KEY, DEFAULT)
        for decide in (
            censor.url,
            censor.query,
            censor.form,
            censor.addresses,
            censor.name,
            censor.redact_carefully,
            censor.trust,
        ):
            assert isinstance(decide(text), str)
        assert censor.url("/" + text) == ValueRedactor(KEY, DEFAULT).url("/" + text)

    def test_addresses_in_lists_are_replaced(self, censor: ValueRedactor) -> None:
        found = censor.addresses('for="[2001:db9::1]:4711";proto=https;by=10.1.2.3, for=unknown, for=_h1dd3n')
        assert censor.value("2001:db9::1") in found
        assert censor.value("10.1.2.3") in found
        assert "proto=https" in found
        assert "h1dd3n" not in found


class TestRemembering:
    def test_a_replaced_value_is_replaced_in_prose_too(self, censor: ValueRedactor) -> None:
        made = censor.value("Anna Gruenwald")
        assert censor.prose("account of Anna Gruenwald") == f"account of {made}"
        made = censor.value("ACME Bank Service 24")
        assert censor.prose("the account of ACME Bank Service 24 is closed") == f"the account of {made} is closed"

    def test_replaced_names_are_replaced_in_places_for_codes(self, censor: ValueRedactor) -> None:
        for text in ("Gruenwald", "Sonderkonto_Gruenwald", "R3J1ZW53YWxk", "Mark", "ANNA", "anna", "Konto von Anna"):
            for name in ("product", "status", "scope", "cashAccountType", "code"):
                assert "nna" not in censor.member(name, text)
                assert censor.member(name, text) != text

    def test_ordinary_words_are_kept(self, censor: ValueRedactor) -> None:
        censor.drop("accounts valid")
        assert censor.url("/v1/accounts") == "/v1/accounts"
        assert censor.member("consentStatus", "valid") == "valid"
        assert censor.redact_carefully("application/json") == "application/json"

    def test_the_token_of_a_dropped_header_is_replaced_elsewhere(self, censor: ValueRedactor) -> None:
        censor.drop("Bearer 2fa81bc0")
        assert censor.redact_carefully("x-2fa81bc0-x") != "x-2fa81bc0-x"


class TestRules:
    def test_values_are_kept_by_rule(self) -> None:
        censor = ValueRedactor(KEY, DEFAULT)
        assert censor.member("name", "Anna Grünwald", "keep") == "Anna Grünwald"
        assert censor.member("password", "geheim", "keep") == "dropped"
        assert censor.member("password", "geheim", "keep", exact=True) == "geheim"
        assert censor.number("id", "123456789", "keep") == "123456789"
        assert censor.number("otp", "123456", "keep") == "0"
        assert censor.number("otp", "123456", "keep", exact=True) == "123456"

    def test_a_kept_text_does_not_contain_values_replaced_elsewhere(self) -> None:
        censor = ValueRedactor(KEY, DEFAULT)
        made = censor.value(IBAN)
        assert censor.member("text", f"account {IBAN} unknown", "keep") == f"account {made} unknown"
        assert censor.member("text", IBAN, "keep") == IBAN

    def test_values_are_replaced_by_rule(self) -> None:
        censor = ValueRedactor(KEY, DEFAULT)
        for text in ("1234.50", "2026-11-21", "2026-11-21T08:37:14Z", UUID, "ACSP", IBAN):
            new = censor.member("status", text, "replace")
            assert new != text
            assert [c.isalnum() for c in new] == [c.isalnum() for c in text]
        assert censor.member("amount", "0.55", "replace")[:2] == "0."
        assert censor.number("n", "5", "replace") != "5"

    def test_values_are_dropped_by_rule(self) -> None:
        censor = ValueRedactor(KEY, DEFAULT)
        assert censor.member("status", "ACSP", "drop") == "dropped"
        assert censor.number("amount", "5", "drop") == "0"

    def test_rules_apply_to_parameters_and_fields(self) -> None:
        censor = ValueRedactor(
            KEY, RedactionRules(queries={"q": "keep", "token": "keep"}, members={"user": "keep", "q": "drop"})
        )
        assert censor.query("Q=Anna&token=x1&user=Anna").split("&")[:2] == ["Q=Anna", "token=dropped"]
        assert "Anna" not in censor.query("user=Anna")
        assert censor.form("user=Anna&q=Anna") == "user=Anna&q=dropped"


def test_redactions_are_counted_for_each_thread() -> None:
    censor = ValueRedactor(KEY, DEFAULT)

    def counted(number: int) -> tuple[int, int]:
        censor.value(f"Anna {number}")
        return get_ident(), censor.count

    with ThreadPoolExecutor(8) as pool:
        last = dict(pool.map(counted, range(2000)))
    assert sum(last.values()) == 2000
    assert censor.count == 0


def test_known_values_are_kept() -> None:
    link = "/v1/accounts/XYZ-1?a=Qwert%20Uiop"
    censor = ValueRedactor(KEY, DEFAULT, unchanged=[link, "Anna"])

    for text in (link, "Anna", "XYZ-1", "Qwert Uiop"):
        assert censor.value(text) == text
    assert censor.url("/v1/payments/XYZ-1?a=Anna") == "/v1/payments/XYZ-1?a=Anna"
    assert censor.member("access_token", "Anna") == "dropped"


class TestPrefixes:
    """Segments in front of the version of an interface do not name a resource."""

    @pytest.mark.parametrize(
        "path",
        [
            "/sx/v1/accounts",
            "/v3_0.1/auth/v3_0.1/token",
            "/joba-psd2/v1.3/accounts",
            "/xs2a/OLB/v1/accounts",
            "/yoltbank/qwrt/v2/consents/status",
            "/hub/apimarket/QWRTZ/v1-0-4/consents",
            "/qwrtz/2024-10/consents",
        ],
    )
    def test_words_of_the_prefix_are_kept_in_paths_and_links(self, path: str) -> None:
        censor = ValueRedactor(KEY, DEFAULT)
        censor.trust("https://bank.example:8443")
        assert censor.url(path) == path
        assert censor.url(f"https://bank.example:8443{path}") == f"https://bank.example:8443{path}"
        assert censor.member("href", path) == path

    @pytest.mark.parametrize(
        "path",
        [
            "/anna%20huber/v1/accounts",
            "/Huber/v1/accounts",
            "/customers/anna/v1/accounts",
            "/users/anna/v1/accounts",
            "/AT611904300234573201/v1/accounts",
            "/K7Q2DHJC/v1/accounts",
            "/4711081547/v1/accounts",
            "/v1/anna/v2/accounts",
        ],
    )
    def test_persons_accounts_and_ids_are_replaced(self, path: str) -> None:
        for part in ("anna", "huber", "Huber", "AT61", "K7Q2DHJC", "4711081547"):
            assert part not in ValueRedactor(KEY, DEFAULT).url(path)

    def test_prefixes_of_other_hosts_are_replaced(self) -> None:
        assert "anna" not in ValueRedactor(KEY, DEFAULT).url("https://shop.example/anna/v1/orders")


@pytest.mark.parametrize("text", ["31.12.2026", "12/31/2026", "26.11.2026 12:00:00", "26.11.2026, 12:00"])
def test_days_in_other_forms_are_kept_unless_they_are_of_long_ago(text: str) -> None:
    censor = ValueRedactor(KEY, DEFAULT)
    assert censor.member("qwrtz", text) == text
    assert censor.member("qwrtz", text.replace("2026", "1974")) != text.replace("2026", "1974")
    assert censor.member("dateOfBirth", text) != text


class TestWordsOfPaths:
    """Unknown words are kept where an interface has no persons."""

    @pytest.mark.parametrize(
        ("method", "path"),
        [
            ("GET", "/wqrt"),
            ("GET", "/wqrt/AB4711-08"),
            ("GET", "/v1/wqrt"),
            ("GET", "/v2/wqrt/prm-4f2a9c1e"),
            ("GET", "/api/wqrt/4711/qwrtz-plok"),
            ("GET", "/accounts/AB4711-08/wqrt"),
            ("POST", "/accounts/wqrt"),
        ],
    )
    def test_words_are_kept(self, method: str, path: str) -> None:
        censor = ValueRedactor(KEY, DEFAULT)
        censor.trust_path(path, method)
        made = censor.url(path)
        assert [word for word in path.split("/") if word.isalpha()] == [
            word for word in made.split("/") if word.isalpha()
        ]
        assert ("4711-08" in made, "4f2a" in made) == (False, False)

    @pytest.mark.parametrize(
        ("method", "path"),
        [
            ("GET", "/accounts/hanna"),
            ("GET", "/wqrt/hanna/plok"),
            ("GET", "/v1/hanna/accounts"),
            ("GET", "/v1/Hanna"),
            ("PUT", "/wqrt/hanna"),
            ("POST", "/kunden/hanna"),
            ("POST", "/clientes/hanna"),
            ("POST", "/v1/accounts/hanna4711"),
            ("GET", "/users/4711/benutzer/hanna"),
        ],
    )
    def test_what_may_be_a_person_is_replaced(self, method: str, path: str) -> None:
        censor = ValueRedactor(KEY, DEFAULT)
        censor.trust_path(path, method)
        assert "hanna" not in censor.url(path).lower()


class TestQuotedNames:
    """A value that only quotes names of members is as harmless as they are."""

    def test_names_of_members_are_kept(self) -> None:
        censor = ValueRedactor(KEY, DEFAULT)
        assert censor.member("pwlq", "wqrt.plok") != "wqrt.plok"
        assert censor.member("pwlq", "X-Wqrt-Plok") == "X-Wqrt-Plok"
        for name in ("wqrtz", "plokm", "x-qwlk"):
            censor.name(name)
        for text in ("wqrtz", "wqrtz.plokm", "wqrtz[0].plokm", "X-Qwlk", "/wqrtz/0/plokm"):
            assert censor.member("pwlq", text) == text
        assert censor.member("pwlq", "wqrtz.hanna") != "wqrtz.hanna"

    def test_persons_are_replaced_nevertheless(self) -> None:
        censor = ValueRedactor(KEY, DEFAULT)
        censor.name("wqrtz")
        assert censor.member("ownerName", "wqrtz") != "wqrtz"

    def test_what_was_replaced_before_stays_replaced(self) -> None:
        censor = ValueRedactor(KEY, DEFAULT)
        first = censor.member("ownerName", "wqrtz")
        censor.name("wqrtz")
        assert censor.member("pwlq", "wqrtz") == first


class TestMetadataOfSecrets:
    """Where a secret is used and which kinds exist is not secret itself."""

    def test_endpoints_are_links(self) -> None:
        censor = ValueRedactor(KEY, DEFAULT)
        censor.trust("https://bank.example")
        for name in ("authorization_endpoint", "token_endpoint", "tokenEndpoint"):
            assert censor.member(name, "https://bank.example/oauth2/token") == "https://bank.example/oauth2/token"
            assert censor.member(name, "https://bank.example/oauth2?token=abc1def2") == (
                "https://bank.example/oauth2?token=dropped"
            )

    def test_supported_methods_are_codes(self) -> None:
        censor = ValueRedactor(KEY, DEFAULT)
        for name, text in {
            "token_endpoint_auth_methods_supported": "client_secret_basic",
            "code_challenge_methods_supported": "S256",
        }.items():
            assert censor.member(name, text) == text
            assert censor.member(name, "Xk3nQz91LmPq") != "Xk3nQz91LmPq"
        assert censor.number("access_token_lifetime", "3600") == "3600"


class TestEnumerations:
    @pytest.mark.parametrize("text", ["NOPE_UNKNOWN", "SCHEME_XQ_PAUSED", "CONSENT_VERLOREN", "SALA", "NTRF+177+9310"])
    def test_codes_in_capitals_are_kept_in_places_for_codes(self, text: str) -> None:
        assert ValueRedactor(KEY, DEFAULT).member("code", text) == text
        assert ValueRedactor(KEY, DEFAULT).member("accountStatus", text) == text

    @pytest.mark.parametrize("text", ["ANNA_HUBER", "HUBER", "anna_unknown", "K7Q2_UNKNOWN", "NTRF+177+93104711081"])
    def test_names_and_ids_are_replaced(self, text: str) -> None:
        assert ValueRedactor(KEY, DEFAULT).member("code", text) != text

    def test_codes_in_other_places_are_replaced(self) -> None:
        assert ValueRedactor(KEY, DEFAULT).member("nickname", "NOPE_UNKNOWN") != "NOPE_UNKNOWN"


def test_an_interface_can_mark_secret_and_personal_members() -> None:
    marked = MarkedMembers.of(["Grid"], ["plot"], ["decideAt"])
    plain, told = ValueRedactor(KEY, DEFAULT), ValueRedactor(KEY, DEFAULT, marked=marked)

    assert (plain.member("grid", "payment"), told.member("grid", "payment")) == ("payment", "dropped")
    assert plain.member("plot", "payment") == "payment" != told.member("plot", "payment")
    assert (plain.is_page("decideAt"), told.is_page("decideAt"), plain.is_page("scaRedirect")) == (False, True, True)
