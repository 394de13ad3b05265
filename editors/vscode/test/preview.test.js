// Tests of the preview, with the real tfbc and a substitute for the editor. TFBC names the program.
'use strict';

const assert = require('node:assert');
const { test } = require('node:test');
const fs = require('node:fs');
const Module = require('node:module');
const os = require('node:os');
const path = require('node:path');

const PROGRAM = process.env.TFBC ?? 'tfbc';
const SAMPLES = path.resolve(__dirname, '../../../runtime/samples');
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tfbc-test-'));
const settings = { trace: '', formats: [], path: PROGRAM };
const listeners = { change: [], close: [] };
const seen = { messages: [], opened: [], fired: [], commands: {}, started: 0 };

class EventEmitter {
  constructor() {
    this.event = (listener) => (this.listener = listener);
  }
  fire(value) {
    seen.fired.push(value);
    this.listener?.(value);
  }
  dispose() {}
}

const gone = { dispose() {} };
const uri = (fsPath) => ({ fsPath, scheme: 'file', toString: () => `file://${fsPath}` });
const vscode = {
  EventEmitter,
  ViewColumn: { Beside: -2 },
  Uri: { from: (parts) => ({ ...parts, toString: () => `${parts.scheme}:${parts.path}?${parts.query}` }) },
  workspace: {
    getConfiguration: () => ({ get: (name) => settings[name] }),
    getWorkspaceFolder: () => ({ uri: uri(folder) }),
    registerTextDocumentContentProvider: (scheme, provider) => ((seen.provider = provider), gone),
    onDidChangeTextDocument: (listener) => (listeners.change.push(listener), gone),
    onDidCloseTextDocument: (listener) => (listeners.close.push(listener), gone),
    openTextDocument: async (address) => ({ uri: address }),
    createFileSystemWatcher: () => gone,
  },
  window: {
    showTextDocument: async (document, options) => seen.opened.push({ document, options }),
    showInformationMessage: (text) => seen.messages.push(text),
    showErrorMessage: (text) => seen.messages.push(text),
    showOpenDialog: async () => seen.answer,
  },
  commands: { registerCommand: (name, run) => ((seen.commands[name] = run), gone) },
};
class LanguageClient {
  constructor(id, name, server) {
    seen.server = server;
  }
  async start() {
    seen.started += 1;
  }
  async stop() {}
}

const load = Module._load;
Module._load = (name, ...rest) => {
  if (name === 'vscode') return vscode;
  if (name === 'vscode-languageclient/node') return { LanguageClient };
  return load(name, ...rest);
};

const { Preview } = require('../preview');

const STANZA = '105 1.0 L=KERN "DISK" "block=" $D3%UW\n';

// A format file in an editor.
function editor(name, text, languageId = 'trcfmt') {
  const document = { uri: uri(path.join(folder, name)), languageId, text, getText: () => document.text };
  return { document };
}

// Waits until the preview is made again.
async function next(preview, act) {
  const before = seen.fired.length;
  act();
  for (let n = 0; n < 200 && seen.fired.length === before; n++) await new Promise((done) => setTimeout(done, 50));
  assert.ok(seen.fired.length > before, 'the preview did not change');
  return preview.provideTextDocumentContent(seen.fired.at(-1));
}

test('a report is shown next to the format file, and follows it without saving', async () => {
  settings.trace = path.join(SAMPLES, 'shell.trc');
  const preview = new Preview(PROGRAM);
  const file = editor('disk.trcfmt', STANZA);
  await preview.open(file);
  const { document, options } = seen.opened.at(-1);
  assert.strictEqual(options.viewColumn, vscode.ViewColumn.Beside);
  const text = preview.provideTextDocumentContent(document.uri);
  assert.match(text, /^105 .* DISK block=100928$/m);
  assert.strictEqual(text.split('\n').filter((line) => line.startsWith('105')).length, 14);

  file.document.text = STANZA.replace('block=', 'sector=');
  const after = await next(preview, () => listeners.change.forEach((listen) => listen(file)));
  assert.match(after, /DISK sector=100928$/m);

  file.document.text = '105 1.0 L=KERN "DISK" {\n';
  const wrong = await next(preview, () => listeners.change.forEach((listen) => listen(file)));
  assert.match(wrong, /^error\[S\d+\].*\n +--> disk\.trcfmt:1:23$/m);
  preview.dispose();
  assert.ok(!fs.existsSync(preview.folder));
});

test('event definitions have a preview, too', async () => {
  settings.trace = path.join(SAMPLES, 'user.kev');
  const preview = new Preview(PROGRAM);
  const file = editor('my.xml', fs.readFileSync(path.join(SAMPLES, 'user.xml'), 'utf8'), 'eventdefinitions');
  await preview.open(file);
  assert.match(preview.provideTextDocumentContent(seen.opened.at(-1).document.uri), /pid:94213 name:devb-eide/);
  preview.dispose();
});

test('without a trace it asks, and a refusal shows nothing', async () => {
  settings.trace = '';
  const preview = new Preview(PROGRAM);
  const before = seen.opened.length;
  seen.answer = undefined;
  await preview.open(editor('disk.trcfmt', STANZA));
  await preview.open(editor('a.txt', '', 'plaintext'));
  await preview.open(undefined);
  assert.strictEqual(seen.opened.length, before);
  assert.strictEqual(seen.messages.length, 2);
  seen.answer = [uri(path.join(SAMPLES, 'shell.trc'))];
  await preview.open(editor('disk.trcfmt', STANZA));
  assert.strictEqual(seen.opened.length, before + 1);
  preview.dispose();
});

test('a missing program and a missing trace are named', async () => {
  settings.trace = path.join(folder, 'no.trc');
  for (const [command, text] of [[PROGRAM, /no\.trc/], ['no-such-tfbc', /cannot start no-such-tfbc.*tfbc\.path/]]) {
    const preview = new Preview(command);
    await preview.open(editor('disk.trcfmt', STANZA));
    assert.match(preview.provideTextDocumentContent(seen.opened.at(-1).document.uri), text);
    preview.dispose();
  }
});

test('a closed preview ends', async () => {
  settings.trace = path.join(SAMPLES, 'shell.trc');
  const preview = new Preview(PROGRAM);
  await preview.open(editor('disk.trcfmt', STANZA));
  const shown = seen.opened.at(-1).document;
  listeners.close.forEach((listen) => listen(shown));
  assert.strictEqual(preview.provideTextDocumentContent(shown.uri), '');
  preview.dispose();
});

test('the extension starts the server, and prefers the program in it to that on the PATH', async () => {
  const { activate } = require('../extension');
  const extensionPath = path.join(folder, 'extension');
  settings.path = '';
  const start = async () => {
    const context = { extensionPath, subscriptions: [] };
    await activate(context);
    context.subscriptions.forEach((part) => part.dispose());
    return seen.server.command;
  };
  assert.strictEqual(await start(), 'tfbc');
  assert.deepStrictEqual(seen.server.args, ['lsp', '--stdio']);
  assert.deepStrictEqual(Object.keys(seen.commands).sort(), ['tfbc.chooseTrace', 'tfbc.preview', 'tfbc.restart']);
  const name = process.platform === 'win32' ? 'tfbc.exe' : 'tfbc';
  fs.mkdirSync(path.join(extensionPath, 'server'), { recursive: true });
  fs.writeFileSync(path.join(extensionPath, 'server', name), '');
  assert.strictEqual(await start(), path.join(extensionPath, 'server', name));
  settings.path = '/opt/tfbc';
  assert.strictEqual(await start(), '/opt/tfbc');
  assert.strictEqual(seen.started, 3);
});
