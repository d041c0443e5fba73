// mockttp with its fastest settings: no recording of traffic, built-in matchers, callbacks for stored data.
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { getLocal } from "mockttp";

const [port, file, keyPath, certPath] = process.argv.slice(2);
const work = JSON.parse(readFileSync(file, "utf8"));
const answer = (statusCode, body) => ({
  statusCode,
  headers: { "content-type": "application/json", "content-length": String(Buffer.byteLength(body)) },
  body,
});
// Use always(), because later rules match some of the same requests.
const reply = (rule, body) => rule.always().thenReply(200, body, answer(200, body).headers);
const consents = new Map();
const payments = new Map();

const server = getLocal({ recordTraffic: false, http2: false, https: { keyPath, certPath } });
await server.start(Number(port));
await reply(server.forGet(work.consent.path), work.consent.body);
const list = server.forGet(work.list.path).withQuery(work.list.query);
await reply(list.withHeaders({ "consent-id": work.list.consent }), work.list.body);
await server.forPost(work.payment.path).thenCallback(async (request) => {
  const payment = await request.body.getJson();
  const amount = payment?.instructedAmount;
  if (!/^\d{1,14}(\.\d{1,2})?$/.test(amount?.amount) || !payment.debtorAccount?.iban || !payment.creditorAccount?.iban) {
    return answer(400, "{}");
  }
  const id = randomUUID();
  payments.set(id, payment);
  return answer(200, work.payment.body.replaceAll("{id}", id));
});
await server.forGet(new RegExp(`^${work.payment.path}/[^/]+$`)).thenCallback((request) => {
  const id = request.path.slice(work.payment.path.length + 1);
  return payments.has(id) ? answer(200, work.read.body) : answer(404, "{}");
});
await server.forPost("/v1/consents").thenCallback(async (request) => {
  const id = randomUUID();
  consents.set(id, await request.body.getJson());
  return answer(200, work.journey.consent.replaceAll("{id}", id));
});
await server.forGet(new RegExp("^/v1/consents/[^/]+/status$")).thenCallback((request) => {
  return consents.has(request.path.split("/")[3]) ? answer(200, work.journey.consentStatus) : answer(404, "{}");
});
const withConsent = (body) => (request) => {
  return consents.has(request.headers["consent-id"]) ? answer(200, body) : answer(404, "{}");
};
await server.forGet("/v1/accounts").thenCallback(withConsent(work.journey.accounts));
await server.forGet(work.list.path).withQuery(work.list.query).thenCallback(withConsent(work.list.body));
await server.forGet(new RegExp(`^${work.payment.path}/[^/]+/status$`)).thenCallback((request) => {
  return payments.has(request.path.split("/").at(-2)) ? answer(200, work.journey.paymentStatus) : answer(404, "{}");
});
await server.forDelete(new RegExp(`^${work.payment.path}/[^/]+$`)).thenCallback((request) => {
  return payments.delete(request.path.split("/").at(-1)) ? { statusCode: 204 } : answer(404, "{}");
});
