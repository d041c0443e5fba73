// mockttp as quick as it gets: no record of the traffic, rules of its own matchers, callbacks for what is kept.
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
const reply = (rule, body) => rule.thenReply(200, body, answer(200, body).headers);
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
await server.forGet(new RegExp(`^${work.payment.path}/`)).thenCallback((request) => {
  const id = request.path.slice(work.payment.path.length + 1);
  return payments.has(id) ? answer(200, work.read.body) : answer(404, "{}");
});
