"""A new user's first case: from an empty folder to a test of their app, with documented commands only."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.doors import DEADLINE, START, wait_until
from xs2a_sandbox.config.kinds import PREFIX

pytestmark = pytest.mark.slow

CASE = """\
cassette: 1
rules:
  - id: instant-to-germany-above-500
    doc: Our bank does not send more than 500 EUR to Germany at once.
    match:
      operation: initiate-payment
      where: {product: instant-sepa-credit-transfers}
      body:
        /creditorAccount/iban: {prefix: DE}
        /instructedAmount/currency: EUR
        /instructedAmount/amount: {gt: "500"}
    respond:
      status: 403
      body:
        tppMessages: [{category: ERROR, code: SERVICE_BLOCKED, path: null, text: not to Germany at once}]
        _links: null
"""
TEST = """\
import uuid


def pay(client, amount):
    headers = {"X-Request-ID": str(uuid.uuid4()), "PSU-IP-Address": "192.0.2.1"}
    return client.post("/v1/payments/instant-sepa-credit-transfers", headers=headers, json={
        "debtorAccount": {"iban": "AT459880000010204711"}, "creditorAccount": {"iban": "DE89370400440532013000"},
        "creditorName": "Max", "instructedAmount": {"currency": "EUR", "amount": amount},
    })


def test_our_app_shows_what_the_bank_says(xs2a):
    assert pay(xs2a.client(), "500.00").status_code == 200
    refused = pay(xs2a.client(), "500.01")
    assert refused.json()["tppMessages"][0]["text"] == "not to Germany at once"
    xs2a.journal.assert_called("POST", "/v1/payments/instant-sepa-credit-transfers", times=2)
"""


class User:
    """A person with a terminal, in their own folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environ = {n: v for n, v in os.environ.items() if not n.startswith(PREFIX)} | {"HOME": str(folder)}
        self.output: list[str] = []

    @property
    def case(self) -> Path:
        return self.folder / "bank" / "cassettes" / "cases" / "germany.yaml"

    def types(self, *words: str, status: int = 0) -> str:
        command = [sys.executable, "-m", *words]
        done = subprocess.run(
            command, cwd=self.case.parents[2], env=self.environ, capture_output=True, text=True, timeout=2 * START
        )
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout + done.stderr

    def serve(self) -> "subprocess.Popen[str]":
        flags = ["--port", "0", "--proxy-port", "0", "--tls-port", "off", "--state", "memory:", "--log-format", "json"]
        process = subprocess.Popen(
            [sys.executable, "-m", "xs2a_sandbox", "serve", *flags],
            cwd=self.case.parents[2],
            env=self.environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stdout
        assert process.stderr
        self.url = json.loads(process.stdout.readline())["direct"]
        for pipe in (process.stdout, process.stderr):
            threading.Thread(target=lambda pipe=pipe: self.output.extend(pipe), daemon=True).start()
        return process

    def pays(self, amount: str, iban: str = "DE89370400440532013000") -> httpx.Response:
        body: dict[str, Any] = {
            "debtorAccount": {"iban": "AT459880000010204711"},
            "creditorAccount": {"iban": iban},
            "creditorName": "Max",
            "instructedAmount": {"currency": "EUR", "amount": amount},
        }
        headers = {"X-Request-ID": "99391c7e-ad88-49ec-a2ad-99ddcb1f7721", "PSU-IP-Address": "192.0.2.1"}
        path = "/v1/payments/instant-sepa-credit-transfers"
        return httpx.post(self.url + path, headers=headers, json=body, trust_env=False, timeout=DEADLINE)


@pytest.fixture(scope="module")
def user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[User]:
    user = User(tmp_path_factory.mktemp("user"))
    done = subprocess.run(
        [sys.executable, "-m", "xs2a_sandbox", "init", "bank"],
        cwd=user.folder,
        env=user.environ,
        check=True,
        capture_output=True,
    )
    assert b"files written" in done.stdout
    assert b"cd bank && xs2a-sandbox serve" in done.stdout
    process = user.serve()
    yield user
    process.terminate()
    assert process.wait(START) == 0


def saves(user: User) -> None:
    """As in the first step. With several workers, the other steps may start in another worker."""
    user.case.write_text(CASE)
    wait_until(lambda: user.pays("500.01").status_code == 403)


def test_step_1_the_case_answers_after_the_file_is_saved(user: User) -> None:
    assert user.pays("500.01").status_code == 200
    saves(user)
    assert user.pays("500.01").json()["tppMessages"][0]["text"] == "not to Germany at once"
    assert (user.pays("500.00").status_code, user.pays("501", "AT379821100040023757").status_code) == (200, 200)
    assert user.types("xs2a_sandbox", "lint").startswith("no problems")


def test_step_2_a_mistake_is_reported_with_its_line_and_changes_nothing(user: User) -> None:
    saves(user)
    user.case.write_text(CASE.replace("    match:", "    mtach:"))
    wait_until(lambda: any("germany.yaml:5:5: error unknown-key" in line for line in user.output))
    assert any("did you mean match?" in line for line in user.output)
    assert user.pays("500.01").status_code == 403
    assert "germany.yaml:5:5: error unknown-key" in user.types("xs2a_sandbox", "lint", status=1)


def test_step_3_the_fixed_case_answers_again(user: User) -> None:
    saves(user)
    heard = len(user.output)
    user.case.write_text(CASE.replace("not to Germany at once", "not so quickly"))
    wait_until(lambda: user.pays("500.01").json().get("tppMessages", [{}])[0].get("text") == "not so quickly")
    assert any("loaded again" in line for line in user.output[heard:])
    user.case.write_text(CASE)
    wait_until(lambda: user.pays("500.01").json()["tppMessages"][0]["text"] == "not to Germany at once")


def test_step_4_a_test_of_the_app_asserts_the_case(user: User) -> None:
    saves(user)
    (user.case.parents[2] / "test_app.py").write_text(TEST)
    assert "1 passed" in user.types("pytest", "-p", "no:cacheprovider", "test_app.py")


def test_step_5_explain_shows_why_another_request_did_not_match(user: User) -> None:
    saves(user)
    body = json.dumps(
        {
            "debtorAccount": {"iban": "AT459880000010204711"},
            "creditorAccount": {"iban": "DE89370400440532013000"},
            "creditorName": "Max",
            "instructedAmount": {"currency": "EUR", "amount": "499"},
        }
    )
    headers = ["-H", "X-Request-ID: 99391c7e-ad88-49ec-a2ad-99ddcb1f7721", "-H", "PSU-IP-Address: 192.0.2.1"]
    url = "/v1/payments/instant-sepa-credit-transfers"
    output = user.types("xs2a_sandbox", "explain", "POST", url, *headers, "-d", body, "--offline")
    assert "instant-to-germany-above-500" in output
    assert "/instructedAmount/amount" in output
    assert "499" in output
    assert "germany.yaml:3" in output
