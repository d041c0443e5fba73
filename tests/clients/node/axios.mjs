// axios, with its own setting for a proxy. An argument names another version: axios up to 1.16.0 does not tunnel TLS, it
// asks the proxy for https URLs.
import { readFileSync } from "node:fs";
import { Agent } from "node:https";
import { walk } from "./walk.mjs";

const { default: axios } = await import(process.argv[2] ?? "axios");
const { BASE_URL, PROXY, CLIENT_CERT, CLIENT_KEY } = process.env;
const bank = axios.create({ baseURL: BASE_URL, validateStatus: null });
if (PROXY) {
  const { protocol, hostname, port } = new URL(PROXY);
  bank.defaults.proxy = { protocol, host: hostname, port };
}
if (CLIENT_CERT) {
  bank.defaults.httpsAgent = new Agent({ cert: readFileSync(CLIENT_CERT), key: readFileSync(CLIENT_KEY), keepAlive: true });
}

async function send(method, url, headers, data) {
  const response = await bank.request({ method, url, headers, data });
  return { status: response.status, version: response.request.res.httpVersion, body: response.data };
}

await walk(send, (method, url, headers) => send(method, url, { ...headers, Connection: "close" }));
