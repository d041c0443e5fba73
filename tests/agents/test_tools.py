"""The tools, as an agent calls them. They need no package of the extra."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.agents.agent import SESSION, Agent
from xs2a_sandbox.features.agents.resources import TEMPLATES, list_resources, read
from xs2a_sandbox.features.agents.tools import TOOLS

PAGE = (Path(__file__).parents[2] / "docs" / "agents.md").read_text()
TOKEN, IBAN, EMAIL = "a-token-that-nobody-may-see", "DE75512108001245126199", "anna.huber@mail.example"
RULE = "match: {operation: account-list}\nrespond: {status: 503, body: {busy: true}}\n"


def test_the_list_of_tools_is_short() -> None:
    listed = [{"name": t.name, "description": t.description, "inputSchema": t.parameters} for t in TOOLS.values()]

    assert len(TOOLS) <= 15
    assert all(one["description"] for one in listed)
    assert len(json.dumps(listed)) < 24_000  # 6,000 tokens


def test_every_tool_and_resource_is_on_the_page() -> None:
    assert not [name for name in TOOLS if f"`{name}`" not in PAGE]
    uris = [one.uri for one in (*TEMPLATES, *list_resources())]
    own = {uri.replace("{+", "{") for uri in uris if not uri.startswith("xs2a://docs/") or "{" in uri}
    assert own == set(re.findall(r"`(xs2a://[a-z]+(?:/\{\w+\})?)`", PAGE))


@pytest.mark.parametrize(
    ("name", "arguments", "text"),
    [
        ("list_items", {}, "the key what is missing"),
        ("list_items", {"what": "paymnts"}, "did you mean payments?"),
        ("list_items", {"what": "payments", "limit": 0}, "limit must"),
        ("list_items", {"what": "exchanges", "search": "staus:404"}, "did you mean status?"),
        ("list_items", {"what": "payments", "session": "a b"}, "must be 1 to 64 of the characters"),
        ("explain_request", {"method": "GET", "url": "accounts"}, "url must be a path such as /v1/accounts"),
        ("why_did_it_fail", {"exchange": 99}, "the journal has no exchange 99"),
        ("why_did_it_fail", {"id": "other"}, "the session has no consent, payment, basket or authorisation other"),
        ("make_case", {}, "give either rule or exchange"),
        ("make_case", {"rule": RULE, "name": "../evil"}, "name must be words in lower case"),
        ("make_case", {"rule": RULE.replace("match", "mtach"), "name": "a"}, "a.yaml:4:5: error unknown-key"),
        ("make_case", {"rule": "a: [", "name": "a"}, "a.yaml:1:5: error"),
        ("plant_fault", {"fault": {"stauts": 503}}, "unknown key stauts; did you mean status?"),
        ("plant_fault", {"fault": {"operation": "initiate-paymet", "status": 503}}, "did you mean initiate-payment?"),
        ("delete_faults", {"id": "fault-9"}, "has no fault fault-9"),
        ("decide", {"id": "other", "decision": "approve"}, "there is no consent, payment, basket or authorisation"),
        ("move_clock", {"by": "90x"}, "'90x' is not a duration such as 90d"),
        ("move_clock", {"by": "1d", "real": True}, "give only one of by, to and real"),
        ("run_campaign", {}, "set app_command in xs2a-sandbox.yaml"),
        ("run_campaign", {"run": "../../etc"}, "No campaign has this name"),
        ("compare", {}, "give exactly one of exchange, recording and run"),
        ("compare", {"recording": "../../etc/passwd"}, "recording: there is no ../../etc/passwd"),
        ("compare", {"recording": "all"}, "recording: there is no recording"),
    ],
)
def test_a_wrong_argument_gets_an_error_that_says_what_is_possible(
    name: str, arguments: dict[str, Any], text: str, agent: Agent, tmp_path: Path
) -> None:
    assert text in agent.fails(name, **arguments)
    assert not list(tmp_path.glob("**/*.yaml"))


def test_an_agent_finds_out_which_payment_failed_and_why(agent: Agent) -> None:
    agent.pays("12.50", endToEndIdentification="paid")
    payment = agent.pays("7.00", endToEndIdentification="lost").json()["paymentId"]
    agent.app.post(f"/v1/payments/sepa-credit-transfers/{payment}/authorisations", json={})
    assert agent.calls("decide", id=payment, decision="decline") == f"{payment} is RJCT"

    newest, *_ = agent.calls("list_items", what="payments", search="rejected")["payments"]
    assert (newest["id"], newest["references"]) == (payment, "lost")
    why = agent.calls("why_did_it_fail", id=payment.upper())
    assert f"payments {payment}: 7.00 EUR to Nahversorger Talblick, RJCT (rejected" in why
    assert "failed (declined, failed, timed out, or" in why
    assert "initiate-payment" in why
    assert "start-payment-authorisation" in why


def test_an_agent_finds_out_why_the_last_request_failed(agent: Agent) -> None:
    assert agent.calls("why_did_it_fail").startswith("No request has failed.")
    agent.app.get("/v1/accounts")
    agent.pays("12,50")
    why = agent.calls("why_did_it_fail")
    assert "FORMAT_ERROR: XS2A901E: amount must be an amount with a dot" in why
    assert "the request does not meet all requirements of the operation initiate-payment" in why
    listed = agent.calls("list_items", what="exchanges", search="is:error")
    assert [line.split()[0] for line in listed.splitlines()] == ["#1", "#2", "2"]
    assert "account-list" in agent.calls("why_did_it_fail", exchange=1)
    assert agent.calls("why_did_it_fail", session="another").startswith("No request has failed.")


def test_nothing_shows_what_the_journal_hides(agent: Agent) -> None:
    secrets = {"Authorization": f"Bearer {TOKEN}", "X-Request-ID": "1"}
    agent.app.get(f"/v1/accounts?note={EMAIL}", headers=secrets)
    paid = agent.pays(creditorAccount={"iban": IBAN}, creditorName=IBAN, endToEndIdentification=EMAIL)
    agent.pays("x", creditorAccount={"iban": IBAN}, remittanceInformationUnstructured=EMAIL)

    shown = [
        str(agent.calls("list_items", what=what))
        for what in TOOLS["list_items"].parameters["properties"]["what"]["enum"]
    ]
    shown += [agent.calls("why_did_it_fail", exchange=number) for number in (1, 2, 3)]
    shown += [agent.calls("why_did_it_fail", id=paid.json()["paymentId"])]
    shown += [read(agent.context, uri)[0] for uri in ("xs2a://journal", "xs2a://journal/1", "xs2a://journal/3")]
    assert "end-to-end id" in shown[-4]
    password = next(iter(agent.app.engine.parts.testdata.collections["psus"].values()))["password"]
    for secret in (TOKEN, IBAN, EMAIL, password):
        assert not [text for text in shown if secret in text], secret


def test_a_fault_is_planted_and_removed(agent: Agent) -> None:
    planted = agent.calls("plant_fault", fault={"operation": "initiate-payment", "status": 503, "next": 2})
    assert agent.pays().status == 503
    assert agent.calls("list_items", what="faults")["faults"] == [{**planted, "seen": 1, "hits": 1}]
    assert agent.calls("delete_faults", id=planted["id"]) == "fault-1 deleted"
    assert agent.pays().status == 200
    agent.calls("plant_fault", fault={"sca": "decline"})
    assert agent.calls("delete_faults") == "1 fault deleted"


def test_a_session_has_its_own_bank_and_clock(agent: Agent) -> None:
    agent.pays()
    fresh = agent.calls("start_session")
    assert fresh["base_url"] == f"{agent.context.base_url}/s/{fresh['session']}"
    there = agent.calls("start_session", name=SESSION)["documents"]["payments"]
    assert there == fresh["documents"]["payments"] + 1
    assert agent.calls("start_session", name=SESSION, reset=True)["documents"] == fresh["documents"]

    assert agent.calls("move_clock", to="2027-01-02T09:00")["now"] == "2027-01-02T09:00:00+01:00"
    assert agent.calls("move_clock", by="1d")["today"] == "2027-01-03"
    assert agent.calls("move_clock", session=fresh["session"])["frozen"] is None
    assert agent.calls("move_clock", real=True)["shift"] == 0
    assert {one["id"] for one in agent.calls("list_items", what="sessions")["sessions"]} >= {SESSION}


def test_a_request_is_explained_without_being_sent(agent: Agent) -> None:
    why = agent.calls("explain_request", method="post", url="/v1/consents", headers={"X-Request-ID": "1"}, body={})
    assert "does not meet all requirements of the operation create-consent" in why
    assert agent.calls("list_items", what="exchanges") == "the journal is empty\n0 found"
    operations = agent.calls("list_items", what="operations", search="create payment")["operations"]
    assert {"id": "initiate-payment", "method": "POST", "path": "/v1/payments/{product}", "does": "create payment"} in (
        operations
    )
    assert "consent-expired" in {one["name"] for one in agent.calls("list_items", what="errors")["errors"]}


def test_a_rule_becomes_a_case_that_is_checked_with_the_others(agent: Agent, tmp_path: Path) -> None:
    assert agent.calls("lint").startswith("no problems in ")
    text = agent.calls("make_case", rule=RULE, name="busy")
    file = tmp_path / "cassettes/cases/busy.yaml"
    assert text.startswith(f"{file} written and checked")
    assert "id: busy" in file.read_text()
    assert "already exists: choose another name" in agent.fails("make_case", rule=RULE, name="busy")
    assert "error ambiguous" in agent.fails("make_case", rule=RULE, name="busy-again")
    failing = RULE + "examples: [{request: {}, expect: {status: 200}}]\n"
    file.unlink()
    assert "the case's own example would fail" in agent.fails("make_case", rule=failing, name="busy")
    assert not file.exists()
    agent.calls(
        "make_case",
        rule=f"cassette: 1\nrules:\n  - {{id: whole, {RULE.splitlines()[0]}, respond: {{status: 500}}}}\n",
        name="whole",
    )
    assert agent.calls("lint").startswith("no problems in ")


def test_an_exchange_becomes_a_case(agent: Agent, tmp_path: Path) -> None:
    agent.pays("7.00", creditorName=IBAN)
    text = agent.calls("make_case", exchange=1)
    (file,) = tmp_path.glob("cassettes/cases/*.yaml")
    assert str(file) in text
    assert IBAN in file.read_text()
    assert IBAN not in text


def test_no_bank_is_asked_that_is_not_configured(agent: Agent) -> None:
    agent.pays()
    assert "bank" in agent.fails("compare", exchange=1, allow_writes=True)
    assert not any("url" in tool.parameters["properties"] for tool in TOOLS.values() if tool.name != "explain_request")


def test_resources_are_read_by_their_uri(agent: Agent) -> None:
    agent.app.get("/v1/accounts")
    assert "GET /v1/accounts 400" in read(agent.context, "xs2a://journal")[0]
    assert "X-Sandbox-Source: sandbox" in read(agent.context, "xs2a://journal/1")[0]
    assert json.loads(read(agent.context, "xs2a://dialect")[0])["dialect"] == "xs2a-1.84"
    for one in list_resources():
        assert read(agent.context, one.uri)[1] == one.media_type
    assert "did you mean journeys/consent?" in said(agent, "xs2a://docs/journeys/consnt")
    assert "there is no page ../README" in said(agent, "xs2a://docs/../README")
    assert "there is no resource xs2a://state: use xs2a://journal" in said(agent, "xs2a://state")


def said(agent: Agent, uri: str) -> str:
    with pytest.raises(Exception, match="there is no") as caught:
        read(agent.context, uri)
    return str(caught.value)
