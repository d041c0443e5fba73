// Loads the extension without an editor, with stubs of the modules that it uses.
const assert = require("node:assert");
const Module = require("node:module");
const { test } = require("node:test");

const load = Module._load;
const messages = [];
const clients = [];
let failure;

class LanguageClient {
  constructor(id, name, server, options) {
    Object.assign(this, { id, server, options });
    clients.push(this);
  }
  async start() {
    if (failure) throw failure;
  }
  async stop() {
    this.isStopped = true;
  }
}

const editor = {
  workspace: {
    getConfiguration: (section) => ({
      get: (name) => require("./package.json").contributes.configuration.properties[`${section}.${name}`].default,
    }),
    workspaceFolders: [{ uri: { fsPath: "/the/folder" } }],
  },
  window: { showErrorMessage: (text) => messages.push(text) },
};

// The bundled client derives classes from those of the editor; every other name is a class.
const anything = new Proxy(editor, { get: (target, name) => target[name] ?? class {} });

Module._load = (name, ...rest) =>
  name === "vscode" ? anything : name === "vscode-languageclient/node" ? { LanguageClient } : load(name, ...rest);

test("the server is started in the opened folder, for YAML, and stopped", async () => {
  const extension = require("./extension.js");
  await extension.activate();
  const [client] = clients;
  assert.deepStrictEqual(client.server, { command: "xs2a-sandbox", args: ["lsp"], options: { cwd: "/the/folder" } });
  assert.deepStrictEqual(client.options, { documentSelector: [{ language: "yaml" }] });
  await extension.deactivate();
  assert.ok(client.isStopped);
  assert.deepStrictEqual(messages, []);
});

test("a server that does not start is reported, with what to do", async () => {
  failure = new Error("spawn xs2a-sandbox ENOENT");
  await require("./extension.js").activate();
  assert.match(messages[0], /xs2a-sandbox lsp\): spawn xs2a-sandbox ENOENT.*pip install 'xs2a-sandbox\[lsp\]'/);
});

test("the bundle can be loaded", () => {
  const bundle = require("./dist/extension.js");
  assert.deepStrictEqual(Object.keys(bundle).sort(), ["activate", "deactivate"]);
});
