// Starts `tfbc lsp` and connects it with the editor, and shows reports next to format files.
'use strict';

const fs = require('fs');
const path = require('path');
const vscode = require('vscode');
const { LanguageClient } = require('vscode-languageclient/node');
const { Preview } = require('./preview');

let client;

// Command of tfbc: the setting, else the program in the extension, else the one on the PATH.
function program(context, settings) {
  const chosen = settings.get('path');
  const bundled = path.join(context.extensionPath, 'server', process.platform === 'win32' ? 'tfbc.exe' : 'tfbc');
  return chosen || (fs.existsSync(bundled) ? bundled : 'tfbc');
}

async function activate(context) {
  const settings = vscode.workspace.getConfiguration('tfbc');
  const command = program(context, settings);
  const server = { command, args: ['lsp', '--stdio'] };
  client = new LanguageClient('tfbc', 'tfbc', server, {
    documentSelector: [{ language: 'trcfmt' }, { language: 'eventdefinitions' }],
    initializationOptions: { formats: settings.get('formats') },
    synchronize: { fileEvents: vscode.workspace.createFileSystemWatcher('**/{tfbc.toml,*.trcfmt,*.trc,*.xml}') },
  });
  const preview = new Preview(command);
  context.subscriptions.push(
    preview,
    vscode.commands.registerCommand('tfbc.restart', () => client.restart()),
    vscode.commands.registerCommand('tfbc.preview', () => preview.open(vscode.window.activeTextEditor)),
    vscode.commands.registerCommand('tfbc.chooseTrace', () => preview.chooseTrace(vscode.window.activeTextEditor)),
  );
  try {
    await client.start();
  } catch (error) {
    vscode.window.showErrorMessage(`tfbc: cannot start \`${command}\`: ${error.message}. Set "tfbc.path".`);
  }
}

function deactivate() {
  return client?.stop();
}

module.exports = { activate, deactivate };
