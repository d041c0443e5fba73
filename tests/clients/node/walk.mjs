// The walk of ../README.md. `send` is a client: it takes method, path, headers and body, and resolves to `status`,
// `version` (null where the client does not tell) and `body`. `sendAnew` does the same on a new connection.
import { randomUUID } from "node:crypto";

const ACCOUNT = "AT459880000010204711";

export async function walk(send, sendAnew) {
  const get = (path, headers, client = send) =>
    client("GET", path, { "X-Request-ID": randomUUID(), ...headers });
  const post = (path, body) =>
    send("POST", path, {
      "X-Request-ID": randomUUID(),
      "Content-Type": "application/json",
      "PSU-IP-Address": "192.0.2.7",
      "TPP-Redirect-URI": "https://tpp.example/back",
    }, body);

  const steps = {};
  steps.consent = await post("/v1/consents", JSON.stringify({
    access: { balances: [{ iban: ACCOUNT }], transactions: [{ iban: ACCOUNT }] },
    recurringIndicator: true,
    validUntil: "9999-12-31",
    frequencyPerDay: 4,
  }));
  const consent = steps.consent.body.consentId;
  const status = `/v1/consents/${consent}/status`;
  steps["consent-status"] = await get(status);
  steps.accounts = await get("/v1/accounts/?withBalance=true", { "Consent-ID": consent });
  steps.transactions = await get(`/v1/accounts/${ACCOUNT}/transactions?bookingStatus=both`, { "Consent-ID": consent });

  const payments = "/v1/payments/sepa-credit-transfers";
  const payment = {
    endToEndIdentification: "walk",
    debtorAccount: { iban: ACCOUNT, currency: "EUR" },
    instructedAmount: { amount: "12.30", currency: "EUR" },
    creditorAccount: { iban: "AT359850700040087109" },
    creditorAgent: "ESELATW1XXX",
    creditorName: "Café Eselsohr",
    remittanceInformationStructured: { reference: "RF-2210" },
  };
  steps.payment = await post(payments, JSON.stringify(payment));
  steps["payment-status"] = await get(`${payments}/${steps.payment.body.paymentId}/status`);

  steps.error = await get("/v1/accounts/?withBalance=false", { "Consent-ID": "00000000-0000-4000-8000-000000000000" });
  const unpadded = Buffer.byteLength(JSON.stringify({ ...payment, padding: "" }));
  const sized = (size) => JSON.stringify({ ...payment, padding: "x".repeat(size - unpadded) });
  steps.largest = await post(payments, sized(1048576));
  steps["too-large"] = await post(payments, sized(1048577));

  const repeated = async (count, client) => {
    const statuses = [];
    for (let i = 0; i < count; i++) statuses.push((await get(status, {}, client)).status);
    return statuses;
  };
  steps.new = await repeated(Number(process.env.NEW), sendAnew);
  steps.kept = await repeated(Number(process.env.KEPT), send);
  console.log(JSON.stringify(steps));
}
