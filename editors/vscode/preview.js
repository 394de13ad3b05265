// Report of a trace next to the format file that is edited: it changes while you type.
'use strict';

const { spawn } = require('child_process');
const fs = require('fs');
const os = require('os');
const path = require('path');
const vscode = require('vscode');

const SCHEME = 'tfbc-report';
// Time without a change before the report is made again, in milliseconds.
const DELAY = 300;
// Lines of a report that are shown.
const MAX_LINES = 2000;
const LANGUAGES = ['trcfmt', 'eventdefinitions'];

class Preview {
  constructor(command) {
    this.command = command;
    // Reports by the address of the format file: its document, trace, text, timer and running process.
    this.shown = new Map();
    this.changed = new vscode.EventEmitter();
    this.onDidChange = this.changed.event;
    this.folder = null;
    this.parts = [
      this.changed,
      vscode.workspace.registerTextDocumentContentProvider(SCHEME, this),
      vscode.workspace.onDidChangeTextDocument(({ document }) => this.edited(document)),
      vscode.workspace.onDidCloseTextDocument((document) => this.closed(document)),
    ];
  }

  // Text of a preview, which the editor asks for.
  provideTextDocumentContent(uri) {
    return this.shown.get(uri.query)?.text ?? '';
  }

  // Shows the report next to the editor of a format file.
  async open(editor) {
    const document = editor?.document;
    if (!document || !LANGUAGES.includes(document.languageId)) {
      vscode.window.showInformationMessage('tfbc: open a format file first');
      return;
    }
    const trace = this.traceOf(document) ?? (await this.ask(document));
    if (!trace) return;
    const key = document.uri.toString();
    this.shown.set(key, { ...this.shown.get(key), document, trace, text: '' });
    await this.report(key);
    const name = `${path.basename(document.uri.fsPath)} report`;
    const uri = vscode.Uri.from({ scheme: SCHEME, path: name, query: key });
    const shown = await vscode.workspace.openTextDocument(uri);
    await vscode.window.showTextDocument(shown, { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true, preview: false });
  }

  // Asks for another trace, and shows its report.
  async chooseTrace(editor) {
    const document = editor?.document;
    if (document && (await this.ask(document))) await this.open(editor);
  }

  // Trace of a format file: the chosen one, else the one of the settings.
  traceOf(document) {
    const chosen = this.shown.get(document.uri.toString())?.trace;
    const setting = vscode.workspace.getConfiguration('tfbc').get('trace');
    if (chosen || !setting) return chosen;
    const folder = vscode.workspace.getWorkspaceFolder(document.uri)?.uri.fsPath ?? path.dirname(document.uri.fsPath);
    return path.resolve(folder, setting);
  }

  async ask(document) {
    const found = await vscode.window.showOpenDialog({ openLabel: 'Show report', title: 'Trace or kernel log' });
    const trace = found?.[0]?.fsPath;
    if (trace) this.shown.set(document.uri.toString(), { document, trace, text: '' });
    return trace;
  }

  edited(document) {
    const key = document.uri.toString();
    const entry = this.shown.get(key);
    if (!entry) return;
    clearTimeout(entry.timer);
    entry.timer = setTimeout(() => this.report(key), DELAY);
  }

  closed(document) {
    const key = document.uri.scheme === SCHEME ? document.uri.query : document.uri.toString();
    const entry = this.shown.get(key);
    if (!entry) return;
    clearTimeout(entry.timer);
    entry.running?.kill();
    this.shown.delete(key);
  }

  // Makes a report with the text of the editor, which need not be saved.
  async report(key) {
    const entry = this.shown.get(key);
    if (!entry) return;
    entry.running?.kill();
    this.folder ??= fs.mkdtempSync(path.join(os.tmpdir(), 'tfbc-'));
    const source = path.join(this.folder, path.basename(entry.document.uri.fsPath));
    fs.writeFileSync(source, entry.document.getText());
    const others = vscode.workspace.getConfiguration('tfbc').get('formats') ?? [];
    const cwd = vscode.workspace.getWorkspaceFolder(entry.document.uri)?.uri.fsPath ?? path.dirname(entry.document.uri.fsPath);
    const formats = [...others.filter((name) => path.resolve(cwd, name) !== entry.document.uri.fsPath), source];
    const args = ['report', '--color', 'never', '--defined', ...formats.flatMap((name) => ['-t', name]), entry.trace];
    const text = await this.run(entry, args, cwd);
    if (text === null) return;
    entry.text = text.replaceAll(source, path.basename(source));
    this.changed.fire(vscode.Uri.from({ scheme: SCHEME, path: `${path.basename(source)} report`, query: key }));
  }

  // Messages and output of tfbc; null if a later report replaced this one.
  run(entry, args, cwd) {
    return new Promise((resolve) => {
      const child = spawn(this.command, args, { cwd, env: { ...process.env, TFBC_CACHE: 'off' } });
      entry.running = child;
      let out = '';
      let messages = '';
      let lines = 0;
      let isCut = false;
      child.stdout.on('data', (chunk) => {
        if (isCut) return;
        out += chunk;
        lines += chunk.toString().split('\n').length - 1;
        if (lines < MAX_LINES) return;
        isCut = true;
        out = `${out.split('\n').slice(0, MAX_LINES).join('\n')}\n… the first ${MAX_LINES} lines\n`;
        child.kill();
      });
      child.stderr.on('data', (chunk) => (messages += chunk));
      child.on('error', (error) => resolve(`cannot start ${this.command}: ${error.message}. Set "tfbc.path".\n`));
      child.on('close', () => {
        if (entry.running !== child) return resolve(null);
        resolve(messages && !isCut ? `${messages}\n${out}` : out || 'No event of the trace has a template in this file.\n');
      });
    });
  }

  dispose() {
    for (const entry of this.shown.values()) {
      clearTimeout(entry.timer);
      entry.running?.kill();
    }
    this.parts.forEach((part) => part.dispose());
    if (this.folder) fs.rmSync(this.folder, { recursive: true, force: true });
  }
}

module.exports = { Preview, SCHEME };
