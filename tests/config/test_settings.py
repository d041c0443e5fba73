import os
import re
from pathlib import Path

import pytest

from xs2a_sandbox.config import Settings
from xs2a_sandbox.config.settings import FILE, load
from xs2a_sandbox.errors import ConfigError, Unreadable, UserMistake


def mistake(directory: Path, file: str | None = None, environ=None, **command_line) -> str:
    if file is not None:
        (directory / FILE).write_text(file)
    with pytest.raises(UserMistake) as caught:
        load(command_line, environ or {}, directory)
    return str(caught.value)


class TestOrder:
    def test_nothing_given(self, tmp_path, monkeypatch):
        monkeypatch.setenv("HOME", str(tmp_path))
        settings = load({}, {"PATH": "x"}, tmp_path)
        assert settings == Settings()
        assert settings.confdir == tmp_path / ".xs2a-sandbox"
        assert settings.state == f"sqlite:{tmp_path}/.xs2a-sandbox/state.db"

    def test_the_command_line_wins_over_the_environment_over_the_file(self, tmp_path):
        (tmp_path / FILE).write_text("port: 1\nproxy_port: 2\ntls_port: 3\nhost: 10.0.0.1\n")
        environ = {"XS2A_SANDBOX_PORT": "11", "XS2A_SANDBOX_PROXY_PORT": "12"}
        settings = load({"port": "21", "host": None, "cassettes": ()}, environ, tmp_path)
        assert (settings.port, settings.proxy_port, settings.tls_port, settings.host) == (21, 12, 3, "10.0.0.1")

    def test_every_setting_from_the_file(self, tmp_path):
        (tmp_path / "mine").mkdir()
        (tmp_path / "data.yaml").touch()
        (tmp_path / FILE).write_text(
            "host: '::1'\nproxy_port: 0\nport: 0\ntls_port: off\ndialect: mine\ncassettes: [mine]\n"
            "testdata: data.yaml\nstate: 'memory:'\nreset: true\nconfdir: conf\nproxy_auth: 'ci:a:b'\n"
            "public_url: https://sandbox.test/xs2a/\ndebug_headers: false\nlog_format: json\n"
            "hosts: [API.bank.example]\nbase_path: /xs2a\n"
        )
        assert load({}, {}, tmp_path) == Settings(
            host="::1",
            proxy_port=0,
            port=0,
            tls_port=None,
            dialect="mine",
            cassettes=(tmp_path / "mine",),
            testdata=tmp_path / "data.yaml",
            state="memory:",
            reset=True,
            confdir=tmp_path / "conf",
            public_url="https://sandbox.test/xs2a",
            proxy_auth="ci:a:b",
            debug_headers=False,
            log_format="json",
            hosts=("api.bank.example",),
            base_path="/xs2a",
        )

    def test_from_the_environment(self, tmp_path):
        (tmp_path / "a").mkdir()
        (tmp_path / "b").mkdir()
        environ = {
            "XS2A_SANDBOX_CASSETTES": os.pathsep.join(["a", "b"]),
            "XS2A_SANDBOX_TLS_PORT": "off",
            "XS2A_SANDBOX_DEBUG_HEADERS": "0",
            "XS2A_SANDBOX_RESET": "true",
            "XS2A_SANDBOX_STATE": "sqlite:here.db",
        }
        settings = load({}, environ, tmp_path)
        assert settings.cassettes == (tmp_path / "a", tmp_path / "b")
        assert (settings.tls_port, settings.debug_headers, settings.reset) == (None, False, True)
        assert settings.state == f"sqlite:{tmp_path}/here.db"

    def test_an_empty_file_and_one_of_comments(self, tmp_path):
        (tmp_path / FILE).write_text("# port: 1\n")
        assert load({}, {}, tmp_path) == Settings()


class TestMistakes:
    @pytest.mark.parametrize(
        ("file", "said"),
        [
            ("prot: 1", "1:1: error unknown-key: unknown key prot; did you mean port?"),
            ("proxy-port: 1", "1:1: error unknown-key: unknown key proxy-port; did you mean proxy_port?"),
            (
                "mode: recrod",
                "1:7: error wrong-value: mode must be one of simulate, spy, record, compare; did you mean record?",
            ),
            ("banks: [{url: x}]", "1:8: error wrong-value: banks[0].url must be a URL such as"),
            ("banks: [{host: x}]", "1:10: error unknown-key: unknown key host"),
            ("port: 70000", "1:7: error wrong-value: must be at most 65535, not 70000"),
            ("port: http", '1:7: error wrong-type: must be a whole number, not "http"'),
            ("tls_port: of", '1:11: error wrong-value: must be a whole number or "off", not "of"; did you mean off?'),
            ("state: redis:x", "1:8: error wrong-value: state must be memory:, sqlite:FILE or a URL such as redis://"),
            ("state: memory:", "1:14: error syntax: mapping values are not allowed in this context; quote text that"),
            (
                "state: 'sqlite:'",
                "1:8: error wrong-value: state must be memory:, sqlite:FILE or a URL such as redis://",
            ),
            ("cassettes: [nowhere]", "1:12: error wrong-value: cassettes must be folders that exist"),
            ("testdata: nothing.yaml", "1:11: error wrong-value: testdata must be a file that exists"),
            ("public_url: ftp://x", "1:13: error wrong-value: public_url must be a URL such as"),
            ("base_path: xs2a/", "1:12: error wrong-value: base_path must be a path such as"),
            ("hosts: ['a b']", "1:8: error wrong-value: hosts must be host names"),
            ("reset: yes", '1:8: error wrong-type: must be true or false, not "yes"'),
            ("max_age: 30", "1:10: error wrong-type: max_age must be a span such as 30d, or off, not 30"),
            ("to: 30", "1:5: error wrong-type: must be text, not 30; quote it to make it text"),
            (
                "banks: [{url: 'https://x.example', read_timeout: 5}]",
                "1:50: error wrong-type: must be a duration such as 500ms, 10s or 2m, not 5",
            ),
            (
                "banks: [{url: 'https://x.example', read_timeout: '5'}]",
                '1:50: error wrong-value: must be a duration such as 500ms, 10s or 2m, not "5"',
            ),
            ("- port", "1:1: error wrong-type: must be a mapping, not a list"),
            ("port: [", "1:8: error syntax:"),
        ],
    )
    def test_in_the_file(self, tmp_path, file, said):
        assert f"{tmp_path / FILE}:{said}" in mistake(tmp_path, file)

    def test_a_host_is_not_both_passed_on_and_a_banks(self, tmp_path):
        mistake_text = mistake(
            tmp_path, mode="spy", bank="https://api.bank.example/psd2", forward_host=("api.bank.example",)
        )
        assert "forward_host: api.bank.example is the host of a bank" in mistake_text
        # At the proxy it has another name, and its own name is then not a bank's.
        flags = {"mode": "spy", "bank": "https://a.example", "forward_host": ("a.example",)}
        (tmp_path / FILE).write_text("hosts: [b.test]\n")
        loaded = load(flags, {}, tmp_path)
        assert loaded.forward_host == ("a.example",)
        named = "banks: [{url: 'https://x.example', hosts: [first.test]}]\nforward_host: [first.test]\n"
        assert "forward_host: first.test is the host of a bank" in mistake(tmp_path, named)

    def test_all_of_the_file_at_once(self, tmp_path):
        (tmp_path / FILE).write_text("port: x\nstate: y\nz: 1\n")
        with pytest.raises(Unreadable) as caught:
            load({}, {}, tmp_path)
        assert [p.line for p in caught.value.problems] == [1, 2, 3]

    @pytest.mark.parametrize(
        ("variable", "value", "said"),
        [
            ("XS2A_SANDBOX_PROT", "1", "XS2A_SANDBOX_PROT: unknown setting; did you mean XS2A_SANDBOX_PORT?"),
            ("XS2A_SANDBOX_HOSTS", "a", "XS2A_SANDBOX_HOSTS: can only be set in xs2a-sandbox.yaml"),
            (
                "XS2A_SANDBOX_PORT",
                "80_80",
                "XS2A_SANDBOX_PORT: must be a port from 0 to 65535 (0 picks a free one)",
            ),
            ("XS2A_SANDBOX_PORT", "", "XS2A_SANDBOX_PORT: must be a port"),
            ("XS2A_SANDBOX_RESET", "maybe", 'XS2A_SANDBOX_RESET: must be true or false, not "maybe"'),
            (
                "XS2A_SANDBOX_STATE",
                "sqlite:",
                "XS2A_SANDBOX_STATE: must be memory:, sqlite:FILE or a URL such as redis://USER:PASSWORD@HOST:6379/0",
            ),
            ("XS2A_SANDBOX_LOG_FORMAT", "xml", 'XS2A_SANDBOX_LOG_FORMAT: must be text or json, not "xml"'),
            ("XS2A_SANDBOX_CONFDIR", "/dev/null", "XS2A_SANDBOX_CONFDIR: must be a folder"),
            ("XS2A_SANDBOX_HOST", "a b", "XS2A_SANDBOX_HOST: must be an address or a host name"),
        ],
    )
    def test_in_the_environment(self, tmp_path, variable, value, said):
        assert said in mistake(tmp_path, environ={variable: value})

    def test_on_the_command_line_with_the_flags_name(self, tmp_path):
        mistake_text = mistake(tmp_path, proxy_port="99999", tls_port="on", cassettes=("no", "nono"))
        assert mistake_text.splitlines() == [
            '--proxy-port: must be a port from 0 to 65535 (0 picks a free one), not "99999"',
            '--tls-port: must be a port from 0 to 65535 (0 picks a free one) or off, not "on"',
            '--cassettes: must be folders that exist, or bundled ones such as scenarios/outage, not "no", "nono": '
            "unknown value 'no'; the values are scenarios/consent-revoked, scenarios/empty-accounts, scenarios/outage, "
            "scenarios/paging, scenarios/rate-limit, scenarios/slow, scenarios/token-expired",
        ]

    @pytest.mark.parametrize(
        ("written", "said"),
        [
            ({"checks": ("tokn",)}, '; or warn, not "tokn"; did you mean token?'),
            (
                {"checks": ("rights", "token,tokn")},
                'not "rights", "token,tokn": unknown value \'tokn\'; did you mean token?',
            ),
            ({"quirk": ("dates-nul",)}, '--quirk: must be names of quirks, not "dates-nul"; did you mean dates-null?'),
            ({"cassettes": ("outage",)}, 'such as scenarios/outage, not "outage"; did you mean scenarios/outage?'),
        ],
    )
    def test_of_a_list_the_wrong_name_is_told_with_the_nearest(self, tmp_path, written, said):
        assert mistake(tmp_path, **written).endswith(said)

    def test_checks_may_be_separated_by_commas(self, tmp_path):
        loaded = load({"checks": ("token, certificate", "rights")}, {}, tmp_path)
        assert loaded.checks == ("token", "certificate", "rights")

    def test_two_doors_on_one_port(self, tmp_path):
        assert "proxy_port and port are both 8080" in mistake(tmp_path, port="8080")
        assert load({"port": "0", "proxy_port": "0", "tls_port": "0"}, {}, tmp_path).port == 0

    def test_a_file_that_cannot_be_read(self, tmp_path):
        (tmp_path / FILE).mkdir()
        with pytest.raises(ConfigError, match=rf"cannot read \S+{re.escape(FILE)}: Is a directory"):
            load({}, {}, tmp_path)

    @pytest.mark.parametrize(
        ("name", "meant"), [("scenarios/outtage", "scenarios/outage"), ("outage", "scenarios/outage")]
    )
    def test_a_bundled_scenario_that_was_meant(self, tmp_path, name, meant):
        assert mistake(tmp_path, cassettes=(name,)).endswith(f'not "{name}"; did you mean {meant}?')
        assert f"scenarios/outage; did you mean {meant}?" in mistake(tmp_path, f"cassettes: [{name}]")
        assert f"such as scenarios/outage; did you mean {meant}?" in mistake(
            tmp_path, f"banks: [{{url: 'https://bank.example', cassettes: [{name}]}}]"
        )

    def test_a_file_with_another_ending(self, tmp_path):
        wrong = tmp_path / "xs2a-sandbox.yml"
        wrong.write_text("port: 1\n")
        assert mistake(tmp_path) == f"{wrong} is ignored, because settings are read from {FILE}: rename or remove it"

    def test_two_banks_with_one_host(self, tmp_path):
        bank = "{url: 'https://x.example', hosts: [x.test]}"
        assert f"{FILE}: two banks have the host x.test" in mistake(tmp_path, f"banks: [{bank}, {bank}]")

    def test_no_home(self, tmp_path, monkeypatch):
        def no_home(path):
            raise RuntimeError

        monkeypatch.setattr(Path, "expanduser", no_home)
        assert "set --confdir DIR" in mistake(tmp_path)
        assert "--confdir: must be a folder" in mistake(tmp_path, confdir="~/x")


class TestSecrets:
    @pytest.mark.parametrize(
        "file",
        [
            "proxy_auth: hunter2",
            "proxy_auth: [hunter2]",
            "proxy_auth: {hunter2: 1}",
            "proxy_auth:\n  user: hunter2",
            "proxy_auth: *hunter2",
            "proxy_auth: !hunter2 x",
            "proxy_auth: user: hunter2",
            "proxy_auth: user:hunter2\n\tx",
            "proxy_aut: user:hunter2\nport: x",
            "prxy: user:hunter2\nport: x",
            "port: x # proxy_auth: hunter2",
        ],
    )
    def test_never_in_a_message_about_the_file(self, tmp_path, file):
        mistake_text = mistake(tmp_path, file)
        assert "hunter2" not in mistake_text
        assert FILE in mistake_text

    def test_never_in_a_message_about_a_variable_or_a_flag(self, tmp_path):
        mistake_text = mistake(
            tmp_path,
            environ={"XS2A_SANDBOX_PROXY_AUTH": "hunter2", "XS2A_SANDBOX_PUBLIC_URL": "http://me:hunter2@x"},
            proxy_auth="hunter2",
        )
        assert mistake_text.splitlines() == [
            "XS2A_SANDBOX_PROXY_AUTH: must be USER:PASS, and USER without spaces",
            "XS2A_SANDBOX_PUBLIC_URL: must be a URL such as https://sandbox.example.org, without query",
            "--proxy-auth: must be USER:PASS, and USER without spaces",
        ]

    def test_never_in_the_representation(self):
        assert "hunter2" not in repr(Settings(proxy_auth="user:hunter2"))


class TestWorkers:
    def test_so_many_share_a_file(self, tmp_path):
        assert load({"workers": "4", "confdir": "conf"}, {}, tmp_path).workers == 4

    @pytest.mark.parametrize("written", ["0", "-1", "65", "two", "1.5"])
    def test_a_number_that_is_none(self, tmp_path, written):
        assert "--workers: must be a number from 1 to 64" in mistake(tmp_path, workers=written)

    def test_memory_is_one_processs_own(self, tmp_path):
        text = mistake(tmp_path, workers="2", state="memory:")
        assert text.startswith("workers is 2, and state memory: belongs to one process only")
        assert load({"workers": "1", "state": "memory:"}, {}, tmp_path).state == "memory:"

    @pytest.mark.parametrize("mode", ["record", "compare"])
    def test_what_is_written_by_one_process_alone(self, tmp_path, mode):
        bank = "https://bank.example"
        assert f"mode {mode} writes files" in mistake(tmp_path, workers="2", mode=mode, bank=bank)
        assert "to writes files" in mistake(tmp_path, workers="2", mode="spy", bank=bank, to="recordings")
        assert load({"workers": "2", "mode": "spy", "bank": bank}, {}, tmp_path).mode == "spy"
