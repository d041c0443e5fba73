// Asks for a consent and reads its status with the package js-nextgen-psd2, which signs every request.
const fs = require("fs");
const PSD2Client = require("js-nextgen-psd2");

const client = new PSD2Client(fs.readFileSync(process.env.SEAL_CERT), fs.readFileSync(process.env.SEAL_KEY));

async function walk() {
  const headers = { "PSU-IP-Address": "192.0.2.1", "TPP-Redirect-URI": "https://tpp.example/back" };
  const consent = JSON.parse(process.env.CONSENT);
  const created = await client.send("post", `${process.env.BASE_URL}/v1/consents`, headers, consent);
  const status = await client.send("get", `${process.env.BASE_URL}/v1/consents/${created.body.consentId}/status`, {});
  console.log(JSON.stringify([created, status].map(({ status, body }) => ({ status, body }))));
}

walk();
