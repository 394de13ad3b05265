// The editor: CodeMirror, with tfbc's language server.
import { closeBrackets, closeBracketsKeymap, completionKeymap } from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { bracketMatching } from '@codemirror/language';
import { forEachDiagnostic, lintGutter, lintKeymap, nextDiagnostic, openLintPanel } from '@codemirror/lint';
import { formatDocument, languageServerExtensions, LSPClient, LSPPlugin } from '@codemirror/lsp-client';
import { highlightSelectionMatches, search, searchKeymap } from '@codemirror/search';
import { EditorState, StateEffect, StateField } from '@codemirror/state';
import {
  Decoration, drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers, placeholder, ViewPlugin,
} from '@codemirror/view';

const ADDRESS = 'untitled:template';
/** Classes of tokens, in the order of the server's legend. */
let legend = [];

const setTokens = StateEffect.define();
const tokens = StateField.define({
  create: () => Decoration.none,
  update(marks, change) {
    for (const effect of change.effects) if (effect.is(setTokens)) return effect.value;
    return marks.map(change.changes);
  },
  provide: (field) => EditorView.decorations.from(field),
});

/** Asks the server for tokens after a pause, and colours them. */
const colours = ViewPlugin.fromClass(class {
  constructor(view) { this.view = view; this.wait(50); }

  update(update) { if (update.docChanged) this.wait(200); }

  wait(ms) { clearTimeout(this.timer); this.timer = setTimeout(() => this.ask(), ms); }

  async ask() {
    const plugin = LSPPlugin.get(this.view);
    if (!plugin) return;
    await plugin.client.initializing;
    legend = plugin.client.serverCapabilities?.semanticTokensProvider?.legend.tokenTypes ?? [];
    plugin.client.sync();
    const asked = this.view.state.doc;
    const found = await plugin.client.request('textDocument/semanticTokens/full', { textDocument: { uri: ADDRESS } }).catch(() => null);
    if (!found || !asked.eq(this.view.state.doc)) return;
    const marks = [];
    let [line, column] = [0, 0];
    for (let at = 0; at < found.data.length; at += 5) {
      const [down, right, length, type] = found.data.slice(at, at + 4);
      line += down;
      column = down ? right : column + right;
      if (line >= asked.lines) break;
      const { from, to } = asked.line(line + 1);
      const [start, end] = [Math.min(from + column, to), Math.min(from + column + length, to)];
      if (start < end) marks.push(Decoration.mark({ class: `tok-${legend[type]}` }).range(start, end));
    }
    this.view.dispatch({ effects: setTokens.of(Decoration.set(marks, true)) });
  }

  destroy() { clearTimeout(this.timer); }
});

const theme = EditorView.theme({
  '&': { height: '100%', backgroundColor: 'var(--back)', color: 'var(--front)', fontSize: '0.8125rem' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '1.45' },
  '.cm-gutters': { backgroundColor: 'var(--bar)', color: 'var(--dim)', borderRight: '1px solid var(--line)' },
  '.cm-content': { caretColor: 'var(--front)' },
  '.cm-cursor': { borderLeftColor: 'var(--front)' },
  '.cm-activeLine': { backgroundColor: 'color-mix(in srgb, var(--bar) 70%, transparent)' },
  '&.cm-focused .cm-selectionBackground, .cm-selectionBackground': { backgroundColor: 'var(--chosen) !important' },
  '.cm-panels, .cm-tooltip': { backgroundColor: 'var(--bar)', color: 'var(--front)', border: '1px solid var(--line)' },
  '.cm-tooltip': { maxWidth: 'min(34rem, 90vw)' },
  '.cm-lsp-documentation': { padding: '0.2rem 0.6rem', maxHeight: '18rem', overflow: 'auto', fontFamily: 'system-ui, sans-serif', fontSize: '0.8125rem' },
  '.cm-lsp-documentation :is(code, pre)': { fontFamily: 'var(--mono)', whiteSpace: 'pre-wrap' },
  '.cm-tooltip-autocomplete > ul > li[aria-selected]': { backgroundColor: 'var(--link)', color: 'var(--back)' },
  '.cm-panel :is(input, button)': { color: 'var(--front)', background: 'var(--back)' },
  '.cm-diagnostic': { whiteSpace: 'pre-wrap' },
  '.tok-keyword, .tok-type': { color: 'var(--tok-keyword)' },
  '.tok-string': { color: 'var(--tok-string)' },
  '.tok-number': { color: 'var(--tok-number)' },
  '.tok-comment': { color: 'var(--dim)', fontStyle: 'italic' },
  '.tok-function, .tok-macro, .tok-class': { color: 'var(--tok-function)' },
  '.tok-variable, .tok-parameter, .tok-property': { color: 'var(--tok-variable)' },
});

const palette = `
:host { --tok-keyword: #8a1c7c; --tok-string: #1a6b2f; --tok-number: #0b57a8; --tok-function: #8a4b00; --tok-variable: #8b1a2b; display: block; }
@media (prefers-color-scheme: dark) {
  :host { --tok-keyword: #e29fd6; --tok-string: #9bd0a5; --tok-number: #8ab8f0; --tok-function: #f0c060; --tok-variable: #ffa8a0; }
}`;

/** Elements that the server's explanations need; all others, and all attributes, are dropped. */
const ALLOWED = new Set(['P', 'PRE', 'CODE', 'EM', 'STRONG', 'UL', 'OL', 'LI', 'HR', 'BR', 'H1', 'H2', 'H3', 'H4', 'BLOCKQUOTE', 'TABLE', 'THEAD', 'TBODY', 'TR', 'TH', 'TD', 'SPAN', 'DIV']);

function sanitized(html) {
  const parsed = new DOMParser().parseFromString(html, 'text/html').body;
  for (const found of [...parsed.querySelectorAll('*')]) {
    if (!ALLOWED.has(found.tagName)) found.replaceWith(...found.childNodes);
    else for (const { name } of [...found.attributes]) if (name !== 'class') found.removeAttribute(name);
  }
  return parsed.innerHTML;
}

/** Counts errors and warnings. */
function count(state) {
  const found = { error: 0, warning: 0 };
  forEachDiagnostic(state, ({ severity }) => { found[severity] = (found[severity] ?? 0) + 1; });
  return found;
}

/** Message of the server, without findings: an empty template is no mistake here. */
function withoutFindings(answer) {
  const message = JSON.parse(answer);
  if (message.method !== 'textDocument/publishDiagnostics') return answer;
  return JSON.stringify({ ...message, params: { ...message.params, diagnostics: [] } });
}

export class Editor {
  constructor(parent, server, { changed, found }) {
    const handlers = new Set();
    server.onmessage = ({ data }) => {
      if (!data.answer) return;
      const answer = this.view?.state.doc.toString().trim() === '' ? withoutFindings(data.answer) : data.answer;
      for (const handler of handlers) handler(answer);
    };
    const client = new LSPClient({ extensions: languageServerExtensions(), sanitizeHTML: sanitized, timeout: 10_000 });
    client.connect({
      send: (message) => server.postMessage({ message }),
      subscribe: (handler) => handlers.add(handler),
      unsubscribe: (handler) => handlers.delete(handler),
    });
    // Rules of the editor go to a shadow tree: they are objects there, which need no exception from the security policy.
    const root = parent.attachShadow({ mode: 'open' });
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(palette);
    root.adoptedStyleSheets = [sheet];
    const holder = document.createElement('div');
    root.append(holder);
    this.extensions = [
      lineNumbers(), history(), drawSelection(), bracketMatching(), closeBrackets(), highlightActiveLine(), highlightSelectionMatches({ minSelectionLength: 3 }),
      EditorView.lineWrapping, lintGutter(), search({ top: true }), tokens, theme,
      keymap.of([{ key: 'F8', run: nextDiagnostic }, ...closeBracketsKeymap, ...searchKeymap, ...historyKeymap, ...completionKeymap, ...lintKeymap, ...defaultKeymap]),
      client.plugin(ADDRESS, 'trcfmt'), colours,
      EditorView.contentAttributes.of({ 'aria-label': 'Template' }),
      placeholder('A stanza of trcfmt or event definitions. Without them, the built-in templates format the trace.'),
      EditorView.updateListener.of((update) => {
        if (update.docChanged) changed();
        found(count(update.state));
      }),
    ];
    this.view = new EditorView({ parent: holder, root });
    holder.style.height = '100%';
  }

  get text() { return this.view.state.doc.toString(); }

  /** Replaces the text; it can be undone. */
  set text(text) {
    this.view.dispatch({ changes: { from: 0, to: this.view.state.doc.length, insert: text } });
  }

  /** Opens a text. */
  open(text) { this.view.setState(EditorState.create({ doc: text, extensions: this.extensions })); }

  /** Chooses the next finding, and shows its message. The only one may be chosen already: then it is listed. */
  next() {
    this.view.focus();
    if (!nextDiagnostic(this.view)) openLintPanel(this.view);
  }

  format() { formatDocument(this.view); this.view.focus(); }
}
