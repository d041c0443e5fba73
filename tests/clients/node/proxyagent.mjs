// The package undici, with its ProxyAgent where there is a proxy.
import { readFileSync } from "node:fs";
import { Agent, ProxyAgent, request } from "undici";
import { walk } from "./walk.mjs";

const { BASE_URL, PROXY, CLIENT_CERT, CLIENT_KEY, HTTP_VERSION } = process.env;
const tls = CLIENT_CERT ? { cert: readFileSync(CLIENT_CERT), key: readFileSync(CLIENT_KEY) } : {};
const allowH2 = HTTP_VERSION === "2";
const dispatcher = PROXY ? new ProxyAgent({ uri: PROXY, requestTls: tls, allowH2 }) : new Agent({ connect: tls, allowH2 });

async function send(method, path, headers, body, options) {
  const response = await request(BASE_URL + path, { method, headers, body, dispatcher, ...options });
  return { status: response.statusCode, version: null, body: await response.body.json() };
}

await walk(send, (method, path, headers) => send(method, path, headers, undefined, { reset: true }));
