"""The shapes of the control interface's JSON. Its routes declare them, and its client returns them."""

from collections.abc import Mapping
from typing import Any, Literal, NotRequired, TypedDict

from xs2a_sandbox.cassette.fault import FaultWish

Document = dict[str, Any]
Collection = dict[str, Any]
"""Documents by id. Rates are strings."""


class ErrorShape(TypedDict):
    """`error` is stable, `message` is for people."""

    error: str
    message: str


class MoneyShape(TypedDict):
    amount: str
    currency: str


class AvailableShape(TypedDict):
    """By the ids of the accounts."""

    available: dict[str, MoneyShape]


class ClockShape(TypedDict):
    """`shift` is in seconds, and 0 while the clock is frozen."""

    now: str
    today: str
    shift: int
    frozen: str | None
    seed: str | None


class ClockSetting(TypedDict, total=False):
    """Exactly one of `shift`, `frozen` (and `seed`) and `real: true`."""

    shift: int | str
    frozen: str
    seed: int | str | None
    real: Literal[True]


class ClockMove(TypedDict):
    """A number of seconds, or a duration such as 90d."""

    move: int | str


class EventOrder(TypedDict):
    """The name of an event of the state machine, as in docs/states.md."""

    event: str


class DueEvent(TypedDict):
    at: str
    collection: str
    id: str


class DueShape(TypedDict):
    """At most fifty events, in the bank's time zone."""

    due: list[DueEvent]


class ChecksShape(TypedDict):
    """The names of the checks that reject requests, and of those that warn."""

    profile: str
    refusing: list[str]
    warning: list[str]


class ChecksSetting(TypedDict, total=False):
    """The default profile is `documented`."""

    profile: Literal["documented", "strict"]
    checks: list[str]


class SessionShape(TypedDict):
    """`documents` is the number of changed documents by collection, including deletions."""

    id: str
    documents: dict[str, int]


class SessionsShape(TypedDict):
    sessions: list[SessionShape]


class ResetOrder(TypedDict, total=False):
    """The request's session, or all sessions."""

    all: bool


class ResetShape(TypedDict):
    """The sessions that were reset."""

    reset: list[str]


class BankShape(TypedDict):
    url: str | None
    hosts: list[str]
    mode: str | None
    dialect: str | None
    quirks: list[str]
    operations: int
    rules: int


class OperationShape(TypedDict):
    """`does` is what it does in the domain, such as `create payment`; null if nothing says so."""

    id: str
    method: str
    path: str
    does: str | None


class BankErrorShape(TypedDict):
    """The status and code that most operations give the error."""

    name: str
    status: int
    code: str


class DialectShape(TypedDict):
    """The interface of the default bank, with the errors of its table."""

    dialect: str
    quirks: list[str]
    operations: list[OperationShape]
    errors: list[BankErrorShape]


class RecordingShape(TypedDict):
    exchanges: int
    waiting: int


class DifferenceShape(TypedDict):
    """A difference in exchanges of an operation. `first` describes it in the first exchange."""

    operation: str
    severity: Literal["high", "medium", "low"]
    kind: str
    place: str
    exchanges: int
    first: str


class ComparisonShape(TypedDict):
    """The results of mode compare so far."""

    exchanges: int
    differences: list[DifferenceShape]


class StatusShape(TypedDict):
    """`loaded` is when the files were read, `problems` are the mistakes found in them since, as lines."""

    loaded: str
    problems: list[str]
    frozen_at: str | None
    banks: list[BankShape]
    recording: RecordingShape | None
    comparison: ComparisonShape | None


class AuthorisationShape(TypedDict):
    """The stored authorisation, with the status of its consent, payment or basket.

    `decisions` are those that are possible now. If there are none, `closed` says why.
    """

    id: str
    status: str
    approach: str
    family: str
    resource: str
    resourceStatus: str | None
    psuId: NotRequired[str | None]
    decisions: list[Literal["approve", "decline", "timeout", "error"]]
    closed: str | None


class PsuDecision(TypedDict):
    decide: Literal["approve", "decline", "timeout", "error"]


class DescribedRequest(TypedDict):
    """A `url` of another host is requested through the proxy, a path at the base URL.

    `certificates` are those that the client sends, its own first: DER in base64.
    """

    method: str
    url: str
    headers: NotRequired[Mapping[str, str | list[str]] | None]
    body: NotRequired[Any]
    session: NotRequired[str | None]
    certificates: NotRequired[list[str] | None]


class ClientShape(TypedDict):
    """The TPP in the client certificate: name, organisation identifier and roles."""

    name: str
    organisation: str
    roles: list[str]


class ExplanationShape(TypedDict):
    """The answer that would be given, its source, and the nearest candidates: see docs/explain.md."""

    request: dict[str, str]
    decision: str
    message: str
    answer: dict[str, Any] | None
    by: dict[str, Any] | None
    handler: dict[str, Any] | None
    amended: list[dict[str, str]]
    quirks: list[str]
    client: ClientShape | None
    consent: str | None
    signature: dict[str, Any] | None
    objections: list[str]
    hints: list[dict[str, str]]
    nearest: list[dict[str, Any]]
    suggestion: dict[str, str] | None


class FaultOrder(FaultWish, total=False):
    """A fault for requests with this `operation`, `does` and `method`, or for all requests.

    `skip` is the number of requests that are answered normally first; with `every` only each n-th after that fails;
    `next` is how often it happens in total. `sca` and `payee` do not affect requests: `sca` is how an authorisation
    ends although the customer approves it, `payee` is the outcome of verifying a payee. With `sessions` the fault is
    for all sessions, including later ones, and is counted separately in each.
    """

    operation: str
    does: str
    method: str
    next: int
    every: int
    skip: int
    sessions: Literal["all"]
    sca: Literal["decline", "timeout", "error"]
    payee: Literal["match", "close-match", "no-match", "not-possible"]


class FaultShape(FaultOrder):
    """`seen` requests matched, and `hits` of them failed."""

    id: str
    seen: int
    hits: int


class FaultsShape(TypedDict):
    faults: list[FaultShape]


class BreakOrder(TypedDict, total=False):
    """Holds requests with this `operation`, `does` and `method`, or all requests; or, with `on`, their responses.

    It holds the next `next` of them, by default one. A held exchange continues unchanged after `timeout`, such as 30s.
    """

    operation: str
    does: str
    method: str
    on: Literal["request", "response"]
    next: int
    timeout: str


class BreakShape(BreakOrder):
    """`hits` is the number of exchanges that it has held."""

    id: str
    hits: int


class BreaksShape(TypedDict):
    breaks: list[BreakShape]


class HeldShape(TypedDict):
    """An exchange that has been held since `since` and will go on unchanged at `until`. Nothing is redacted.

    `response` is null while the request is held. With `cut`, more of the response will follow.
    """

    id: str
    breakpoint: str
    session: str
    on: Literal["request", "response"]
    since: str
    until: str
    operation: str | None
    method: str
    url: str
    cut: bool
    request: "MessageShape"
    response: "MessageShape | None"


class HeldListShape(TypedDict):
    """Oldest first."""

    held: list[HeldShape]


HeldOrder = TypedDict(
    "HeldOrder",
    {
        "continue": Literal[True],
        "drop": Literal[True],
        "status": int,
        "headers": dict[str, str | list[str] | None],
        "body": Any,
    },
    total=False,
)
"""One of `continue`, `drop` and edits. A header is set to a string or a list of strings, or removed by null."""


class RulesOrder(TypedDict):
    """Rules in the form of cassettes, each as an object or YAML text, which may also be a list of rules."""

    rules: list[dict[str, Any] | str]


class AddedRules(TypedDict):
    """Rules that were added together, as text. `hits` is how many answers each rule has given or changed."""

    id: str
    rules: list[str]
    hits: dict[str, int]


class AddedRulesShape(TypedDict):
    """The last addition wins."""

    added: list[AddedRules]


class CallbackCause(TypedDict, total=False):
    """The request that caused a callback, or with `event` an event at its time."""

    method: str
    path: str
    request_id: str | None
    event: Literal[True]


class CallbackShape(TypedDict):
    """A request of the bank to an app. It is written `at` the change that caused it.

    `answer` is the app's last status, or why there is none; `tried` is the time of the last try, and `next` that of the
    next one. Nothing is redacted.
    """

    id: str
    callback: str
    to: str
    method: str
    headers: list[list[str]]
    body: str
    at: str
    state: Literal["waiting", "delivered", "refused", "failed", "withheld"]
    tries: int
    answer: str | None
    tried: str | None
    next: str | None
    fault: str | None
    cause: CallbackCause


class CallbacksShape(TypedDict):
    """Oldest first."""

    callbacks: list[CallbackShape]


class ExchangeSummary(TypedDict):
    """`amended` are the rules and faults that changed the answer; `fault` is what broke its connection or content, or
    null. `verdict` is the result of the comparison with the bank, such as `differs`, or null. `cause` is set for a
    callback, and says what caused it.
    """

    number: int
    time: str
    session: str
    method: str
    target: str
    status: int
    source: str
    rule: str | None
    amended: list[str]
    fault: str | None
    milliseconds: float
    warnings: list[str]
    reason: str | None
    nearest: list[str]
    operation: str | None
    client: ClientShape | None
    verdict: str | None
    cause: str | None


class MessageShape(TypedDict):
    """A JSON body is in `body`, other text in `text`, everything else in `base64`."""

    status: NotRequired[int]
    headers: list[list[str]]
    body: NotRequired[Any]
    text: NotRequired[str]
    base64: NotRequired[str]


class ExchangeShape(ExchangeSummary):
    """`cut` means that more was sent than is kept."""

    origin: str
    cut: bool
    request: MessageShape
    answer: MessageShape


class ComparisonOrder(TypedDict, total=False):
    """With `allow_writes` the bank also gets requests that change something."""

    allow_writes: bool


class FindingShape(TypedDict):
    """A difference: `bank` and `sandbox` are the values at the `place`, redacted and shortened."""

    severity: Literal["high", "medium", "low"]
    kind: str
    place: str
    bank: str
    sandbox: str


class ComparedShape(TypedDict):
    """`verdict` is `same`, `differs` or the reason why there is none; `masked` differences do not count; `trouble` is
    why there is no comparison, `remark` further information.
    """

    number: int
    operation: str
    bank: str
    verdict: str
    findings: list[FindingShape]
    masked: int
    trouble: str | None
    remark: str | None


class JournalShape(TypedDict):
    """Oldest first; `found` is the number that match the filters, `kept` the number in the journal, and `counts` are by
    key and value of the search."""

    exchanges: list[ExchangeSummary]
    found: int
    kept: int
    counts: NotRequired[dict[str, dict[str, int]]]


class DeletedShape(TypedDict):
    deleted: int


class JournalMatch(TypedDict, total=False):
    session: str
    method: str
    path: str
    status: int
    source: str
    rule: str
    since: int
    before: int
    text: str
    headers: dict[str, str]
    query: dict[str, str]
    body: Any


class TimesRange(TypedDict, total=False):
    min: int
    max: int


class Assertion(TypedDict, total=False):
    """Without `times` one match is enough."""

    match: JournalMatch
    times: int | TimesRange | None


class AssertedShape(TypedDict):
    found: int
    numbers: list[int]
