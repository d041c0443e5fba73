// The package undici, with its ProxyAgent where there is a proxy.
import { readFileSync } from "node:fs";
import { Agent, ProxyAgent, request } from "undici";
import { walk } from "./walk.mjs";

const { BASE_URL, PROXY, CLIENT_CERT, CLIENT_KEY, HTTP_VERSION } = process.env;
const tls = CLIENT_CERT ? { cert: readFileSync(CLIENT_CERT), key: readFileSync(CLIENT_KEY) } : {};
const allowH2 = HTTP_VERSION === "2";
const connect = () => (PROXY ? new ProxyAgent({ uri: PROXY, requestTls: tls }) : new Agent({ connect: tls, allowH2 }));

const kept = connect();

async function send(method, path, headers, body, options) {
  const response = await request(BASE_URL + path, { method, headers, body, dispatcher: kept, ...options });
  return { status: response.statusCode, version: null, body: await response.body.json() };
}

// A connection of HTTP/2 ends with its dispatcher alone.
async function sendAnew(method, path, headers) {
  if (!allowH2) return send(method, path, headers, undefined, { reset: true });
  const dispatcher = connect();
  const answer = await send(method, path, headers, undefined, { dispatcher });
  await dispatcher.close();
  return answer;
}

await walk(send, sendAnew);
