// Node's own fetch, with the proxy and the client certificate by the package undici.
import { readFileSync } from "node:fs";
import { Agent, EnvHttpProxyAgent, setGlobalDispatcher } from "undici";
import { walk } from "./walk.mjs";

const { BASE_URL, CLIENT_CERT, CLIENT_KEY, HTTPS_PROXY } = process.env;
if (HTTPS_PROXY || CLIENT_CERT) {
  const tls = CLIENT_CERT ? { cert: readFileSync(CLIENT_CERT), key: readFileSync(CLIENT_KEY) } : {};
  setGlobalDispatcher(HTTPS_PROXY ? new EnvHttpProxyAgent({ requestTls: tls }) : new Agent({ connect: tls }));
}

async function send(method, path, headers, body) {
  const response = await fetch(BASE_URL + path, { method, headers, body });
  return { status: response.status, version: null, body: await response.json() };
}

await walk(send, (method, path, headers) => send(method, path, { ...headers, Connection: "close" }));
