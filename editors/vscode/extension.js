// Starts `tfbc lsp` and connects it with the editor. Everything else is the server's.
'use strict';

const vscode = require('vscode');
const { LanguageClient } = require('vscode-languageclient/node');

let client;

async function activate(context) {
  const settings = vscode.workspace.getConfiguration('tfbc');
  const server = { command: settings.get('path'), args: ['lsp', '--stdio'] };
  client = new LanguageClient('tfbc', 'tfbc', server, {
    documentSelector: [{ language: 'trcfmt' }, { language: 'eventdefinitions' }],
    initializationOptions: { formats: settings.get('formats') },
    synchronize: { fileEvents: vscode.workspace.createFileSystemWatcher('**/{tfbc.toml,*.trcfmt,*.trc,*.xml}') },
  });
  context.subscriptions.push(vscode.commands.registerCommand('tfbc.restart', () => client.restart()));
  try {
    await client.start();
  } catch (error) {
    vscode.window.showErrorMessage(`tfbc: cannot start \`${server.command}\`: ${error.message}. Set "tfbc.path".`);
  }
}

function deactivate() {
  return client?.stop();
}

module.exports = { activate, deactivate };
