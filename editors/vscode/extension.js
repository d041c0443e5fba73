// Starts the language server for YAML files. The server itself ignores files that are not ours.
const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

exports.activate = async () => {
  const [command, ...args] = vscode.workspace.getConfiguration("xs2a-sandbox").get("command");
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath;
  const server = { command, args, options: { cwd: folder } };
  client = new LanguageClient("xs2a-sandbox", "xs2a-sandbox", server, { documentSelector: [{ language: "yaml" }] });
  try {
    await client.start();
  } catch (error) {
    vscode.window.showErrorMessage(
      `The language server of xs2a-sandbox does not start (${[command, ...args].join(" ")}): ${error.message}. ` +
        "Install it with pip install 'xs2a-sandbox[lsp]', or set xs2a-sandbox.command.",
    );
  }
};

exports.deactivate = () => client?.stop();
