"""Runs the functional conformance scripts of UK Open Banking 4.0.

Source: OpenBankingUK/conformance-suite 1.9.1 (MIT), its manifests and the OpenAPI documents. They are read from
`shared/data/obie-v4`, not copied. Where the scripts are ambiguous, this runner follows the suite's Go code:

Order. For each interface, the scripts with `requestConsent: true` run first, and the customer approves each of their
consents; the others follow by id. The suite skips a second script with the same id (OB-400-CBPII-000009) and scripts
whose path its discovery does not list (`/product`, `/accounts/$accountId/beneficiaries/`). This runner runs them too.

Words. `$name` is a parameter of the script, or a value of the context: the suite's configuration, values stored by
earlier scripts (`keepContextOnSuccess`) and their parameters, and the bodies of data.json. Values are resolved
recursively. A parameter that refers to itself means the value of the context. An unknown name is an error only where
it is used. `$fn:` functions are called once; their layouts are Go's. `apiVersion` is a range; all of them contain 4.0.

Tokens for accounts. Scripts with `permissions` share consents: in the order of their ids, each script joins the first
consent that has none of its `permissions-excluded` and excludes none of its `permissions`. Scripts without permissions
send no Authorization except what their `headers` contain; `$client_access_token` is the app's own token
(client_credentials). `$consentedAccountId` is the first account that GET /accounts lists with the script's token.

Other tokens. The customer's token is sent with funds-confirmation and with every POST that does not create a consent;
it belongs to the consent named by `consentId`. All other requests, including consents and GETs of payments, have the
app's own token, regardless of `useCCGToken`. The scope is payments, or fundsconfirmations; `tokenRequestScope` is
ignored.

Requests. All have x-fapi-financial-id, a new x-fapi-interaction-id, x-fapi-customer-ip-address and x-fcs-testcase-id.
POSTs of payments and VRP have an x-idempotency-key and a detached x-jws-signature (see `detached_jws`).
`removeSignatureClaims` removes members from its header, which `crit` still names; the suite then signs an empty
payload, but this runner signs the body. `removeHeaders` is applied last.

Answers. Only the last status of `asserts` counts, and all of their matches. Of `asserts_one_of`, one must hold
completely. If all of `asserts_last_if_all` except the last hold, the last must hold too. In a match, `header` with
`value` is the value of a header, `header-present` its presence, `JSON` with `Value` the text of the value at a path
(true is "true"), `JSON` the presence of the path, `JSON-NOT-PRESENT` its absence; `type` has no meaning. A path is
GJSON's: members separated by dots, and `#[name="value"]` for the first array item with that member.

This runner is stricter than the suite: `header-present` with a `value` (the content type) compares the value, and the
schema check requires the headers in the OpenAPI document, and checks their schemas. Formats are checked.
"""
