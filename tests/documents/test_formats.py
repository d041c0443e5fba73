import pytest

from xs2a_sandbox.documents.formats import EXPECTED, FORMATS, is_iban

FITS = {
    "uuid": ["99391c7e-ad88-49ec-a2ad-99ddcb1f7721", "99391C7E-AD88-49EC-A2AD-99DDCB1F7721"],
    "ip": ["192.0.2.7", "::1", "2001:db8::ff00:42:8329"],
    "iban": ["AT611904300234573201", "DE89370400440532013000", "GB82WEST12345698765432"],
    "bic": ["BKAUATWW", "BKAUATWWXXX", "DEUTDEFF500"],
    "date": ["2026-11-21", "2024-02-29"],
    "date-time": ["2026-11-21T08:37:14Z", "2026-11-21T08:37:14.123+01:00", "2026-11-21t08:37:14z"],
    "currency": ["EUR", "CHF", "JPY"],
    "amount": ["0", "1", "-1", "12.34", "0.001", "-0.5", "999999999999999999"],
    "country": ["AT", "DE"],
    "redirect-uri": [
        "https://tpp.example",
        "HTTPS://tpp.example/back?a=1&b=%C3%BC#top",
        "http://localhost:3000/cb",
        "http://[::1]:3000/cb",
        "com.example.app:/cb",
        "myapp://done?a=1",
        "myapp:done",
    ],
}
FITS_NOT = {
    "uuid": ["", "99391c7ead8849eca2ad99ddcb1f7721", "99391c7e-ad88-49ec-a2ad-99ddcb1f772g"],
    "ip": ["", "192.0.2", "192.0.2.256", "01.2.3.4", "localhost", "192.0.2.7 ", "192.0.2.7:80"],
    "iban": ["", "AT611904300234573202", "AT61 1904 3002 3457 3201", "at611904300234573201", "XX00", "A" * 40],
    "bic": ["", "BKAUATW", "BKAUATWWXX", "bkauatww", "BKAU AT WW", "BKAUATWW ", "BKAU-ATWW"],
    "date": ["", "2026-02-29", "2026-13-01", "20261121", "2026-1-1", "2026-11-21T00:00:00Z", "２０２６-01-01"],
    "date-time": ["", "2026-11-21", "2026-11-21T08:37:14", "2026-11-21T25:00:00Z", "2026-11-21 08:37:14Z"],
    "currency": ["", "eur", "EURO", "XYZ1"],
    "amount": ["", "+1", "1,5", ".5", "1.", "01", "1.2345", "1e3", "1_000", " 1", "NaN", "١"],
    "country": ["", "at", "AUT"],
    "redirect-uri": [
        "",
        "nonsense",
        "javascript:alert(1)",
        "JavaScript:alert(1)",
        " javascript:alert(1)",
        "java\tscript:alert(1)",
        "data:text/html,<script>alert(1)</script>",
        "data:text/html,x",
        "vbscript:x",
        "file:///etc/passwd",
        "blob:https://x/y",
        "view-source:https://x",
        "urn:x:y",
        "//evil.example/x",
        "/v1/consents",
        "://x",
        "myapp:",
        "1app:x",
        "https:evil.example",
        "https://",
        "https:///back",
        "https://:443/back",
        "https://tpp.example:99999/",
        "https://[::1",
        "https:\\\\evil.example",
        "https://tpp.example/a b",
        "https://tpp.example/%zz",
        "https://tpp.example/über",
        "https://tpp.example/\"><script>'",
        "localhost:3000/cb",
        "tpp.example:443",
    ],
}


def _cases(table):
    return [(name, text) for name, texts in table.items() for text in texts]


@pytest.mark.parametrize(("name", "text"), _cases(FITS))
def test_valid_values_are_accepted(name, text):
    assert FORMATS[name](text) is True


@pytest.mark.parametrize(("name", "text"), [*_cases(FITS_NOT), *((n, t + "\n") for n, (t, *_) in FITS.items())])
def test_invalid_values_are_refused(name, text):
    assert FORMATS[name](text) is False


def test_the_tables_include_every_format():
    assert FITS.keys() == FITS_NOT.keys() == FORMATS.keys()


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_a_megabyte_is_checked_quickly_and_not_cached(name):
    from xs2a_sandbox.documents import formats

    functions = [one for value in vars(formats).values() for one in (value, getattr(value, "__wrapped__", None))]
    caches = [one for one in functions if hasattr(one, "cache_info")]
    assert caches
    before = [cache.cache_info().currsize for cache in caches]
    assert FORMATS[name]("A1" * 500_000) is False
    assert is_iban("AT611904300234573201")
    grown = [cache.cache_info().currsize - size for cache, size in zip(caches, before, strict=True)]
    assert sum(grown) <= 3  # the IBAN, and the registries of currencies and countries


def test_every_format_has_a_description():
    assert list(EXPECTED) == list(FORMATS)
