// The page: which trace, which template, and what is shown of them.
import { Editor } from './editor.js';
import { Cancelled, Engine, load, worker } from './engine.js';
import userDefinitions from '../../runtime/samples/user.xml';

const $ = (id) => document.getElementById(id);
const element = (name, properties, ...children) => {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
};

const AIX_TEMPLATE = `# A template replaces the built-in stanza of its hook. Change a text, and the report changes with it.
# Ctrl+Space completes, and the pointer over a name explains it.

134 1.0 L=KERN "@EXEC" \\
    "runs " $GENERIC, 1 { W2 $HL%S4 }, \\* { $D1%PW } " as process " $D1%UW

135 1.0 L=KERN "@EXIT" \\
    {{ $signal = $D2 & 0x7F }} {{ $code = $D2 / 256 & 0xFF }} \\
    $signal, 0 { "exits with " $code%U1 }, \\* { "is killed by signal " $signal%U1 }
`;
const TEMPLATES = { 'shell.trc': AIX_TEMPLATE, 'copy.trc': AIX_TEMPLATE, 'user.kev': userDefinitions };
/** Text of a template that a file may have. */
const MAX_TEMPLATE = 8 << 20;
/** Event that is shown until something else is pasted: a dispatch. */
const EXAMPLE_HEX = '10660000 00001912 0000271b 0000003c 00001fff 0000003c';

let engine;
let editor;
/** The trace: a sample, files, or pasted bytes. */
let trace = { kind: 'sample', name: 'shell.trc' };
let files = [];
/** The template that the page put into the editor; another trace replaces it as long as it is unchanged. */
let given = '';
let templateName = 'template';
let tab = 'report';
/** What the tab shows, so that it is not made again. */
const made = { report: null, explore: null };
/** The trace that a tab shows. */
const shown = { report: null, explore: null };
let waiting = 0;

// Jobs.

function describe(kind, more = {}) {
  const text = editor.text;
  return {
    kind, trace, builtIn: $('built-in').checked,
    formats: text.trim() === '' ? [] : [{ name: templateName, text }],
    ...Object.fromEntries(['grep', 'only', 'cpu', 'from', 'until'].map((id) => [id, $(id).value])),
    ...more,
  };
}

function say(text, failed = false) {
  $('status').textContent = text;
  $('status').classList.toggle('failed', failed);
}

const number = new Intl.NumberFormat('en');
const size = (bytes) => (bytes < 1e4 ? `${bytes} bytes` : bytes < 1e7 ? `${(bytes / 1e3).toFixed(0)} KB` : `${(bytes / 1e6).toFixed(0)} MB`);
const plural = (n, word) => `${number.format(n)} ${word}${n === 1 ? '' : 's'}`;

/** Runs a job with progress, and says how it ended. Returns `null` if it failed or was cancelled. */
async function run(job, options = {}) {
  const begun = performance.now();
  const notices = [];
  const whole = files.reduce((sum, file) => sum + file.size, 0);
  const progress = (offset, events) => {
    $('progress').value = whole ? Math.min(1, offset / whole) : 0;
    $('progress').hidden = !whole;
    say(`${plural(events, 'event')}${whole ? `, ${size(offset)} of ${size(whole)}` : ''}`);
    options.on?.progress?.(offset, events);
  };
  const notice = (text, damage) => { notices.push(`${damage ? 'damage' : 'warning'}: ${text}`); };
  // What ends at once shows no button.
  const soon = setTimeout(() => { $('cancel').hidden = false; }, 300);
  try {
    const done = await engine.run(job, { files, ...options, on: { ...options.on, progress, notice } });
    done.notices = notices.concat(done.notices > notices.length ? [plural(done.notices - notices.length, 'more notice')] : []);
    done.seconds = (performance.now() - begun) / 1e3;
    document.documentElement.dataset.memory = done.memory;
    return done;
  } catch (error) {
    if (!(error instanceof Cancelled)) {
      say(error.message, true);
      options.on?.failed?.();
    }
    return null;
  } finally {
    clearTimeout(soon);
    if (!engine.isRunning) {
      $('cancel').hidden = true;
      $('progress').hidden = true;
    }
  }
}

/** Lists the notices about the trace. */
function showNotices({ notices }) {
  $('notices').hidden = !notices.length;
  $('notices-title').textContent = plural(notices.length, 'notice');
  $('notices-list').replaceChildren(...notices.map((text) => element('li', { textContent: text })));
}

/** Forgets what a tab shows if it is another trace. A report stays while a template is wrong. */
function forget(name, clear) {
  if (shown[name] !== JSON.stringify(trace)) clear();
}

// Report.

/**
 * The report in blocks of whole lines. The browser lays out the blocks that can be seen, so neither the first megabytes
 * nor a new status line above them take long.
 */
class ReportText {
  #decoder = new TextDecoder();
  /** Text after the last line that is complete. */
  #rest = '';
  #isFirst = true;

  push(bytes) {
    const text = this.#rest + this.#decoder.decode(bytes, { stream: true });
    const end = text.lastIndexOf('\n') + 1;
    this.#rest = text.slice(end);
    if (end) this.#show(text.slice(0, end));
  }

  /** Shows the last line, even if it is not complete. */
  finish() {
    this.#show(this.#rest + this.#decoder.decode());
  }

  #show(text) {
    const block = element('div', { textContent: text });
    block.style.containIntrinsicHeight = `auto ${text.split('\n').length - 1}lh`;
    // The old report stays until there is a new one, so that typing does not flicker.
    if (this.#isFirst) $('text').replaceChildren(block); else $('text').append(block);
    this.#isFirst = false;
  }
}

async function makeReport() {
  const key = JSON.stringify(describe('report', isOneEvent() ? { event: eventKind() } : {}));
  if (made.report === key) return;
  made.report = key;
  if (isOneEvent()) { await makeOne(); return; }
  const out = new ReportText();
  const source = JSON.stringify(trace);
  const failed = () => forget('report', () => { $('text').textContent = ''; });
  const done = await run(describe('report'), { isShown: true, on: { piece: (bytes) => out.push(bytes), failed } });
  if (!done) { if (made.report === key) made.report = null; $('cut').textContent = ''; return; }
  out.finish();
  const { events, damaged, kind } = done.result;
  say(`${kind}: ${plural(events, 'event')}, ${plural(damaged, 'damaged place')}, ${done.seconds.toFixed(2)} s`);
  shown.report = source;
  showNotices(done);
  $('cut').textContent = done.size > done.sent ? `The first ${size(done.sent)} of ${size(done.size)} are shown.` : '';
  document.documentElement.dataset.done = String(Number(document.documentElement.dataset.done ?? 0) + 1);
}

const isOneEvent = () => trace.kind === 'pasted' && $('hex-kind').value !== 'trace';
const eventKind = () => ($('hex-kind').value === 'qnx' ? $('qnx-event').value : $('hex-kind').value);

/** Shows pasted bytes as one event. */
async function makeOne() {
  const source = JSON.stringify(trace);
  const failed = () => forget('report', () => { $('text').textContent = ''; });
  const done = await run(describe('bytes', { event: eventKind() }), { on: { failed } });
  if (!done) { made.report = null; return; }
  shown.report = source;
  $('text').textContent = done.result.bytes;
  $('cut').textContent = '';
  say('');
  document.documentElement.dataset.done = String(Number(document.documentElement.dataset.done ?? 0) + 1);
}

async function whole(kind, failed) {
  const pieces = [];
  const done = await run(describe(kind), { on: { piece: (bytes) => pieces.push(new Blob([bytes])), failed } });
  return done && { ...done, blob: new Blob(pieces) };
}

function save(blob, name) {
  const link = element('a', { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

const title = () => ({ pasted: 'pasted', sample: trace.name, files: files[0]?.name })[trace.kind];

// Table, summary and timeline: the page that `tfbc view` writes, in a frame.

let pageText = null;

async function makeExplore() {
  const key = JSON.stringify(describe('page'));
  if (made.explore === key) return;
  made.explore = key;
  closeEvent();
  const source = JSON.stringify(trace);
  const done = await whole('page', () => forget('explore', () => { pageText = null; $('page').srcdoc = ''; }));
  if (!done) { if (made.explore === key) made.explore = null; return; }
  pageText = await done.blob.text();
  shown.explore = source;
  $('page').srcdoc = pageText;
  showNotices(done);
  const { events, all, isWhole, kind } = done.result;
  say(`${kind}: ${isWhole ? '' : 'the first '}${plural(events, 'event')}${isWhole ? '' : ` of ${number.format(all)}`}, ${done.seconds.toFixed(2)} s`);
}

function closeEvent() {
  $('event').hidden = true;
  $('event').replaceChildren();
}

let wanted = null;

/** Shows bytes and fields of an event. Only the last event that was chosen counts. */
async function showEvent(seq) {
  wanted = seq;
  const text = $('status').textContent;
  const done = await run(describe('event', { seq }));
  if (!done || wanted !== seq) return;
  say(text);
  const { id, label, fields, bytes } = done.result;
  const rows = fields.map(([name, value]) => element('tr', {}, element('th', { textContent: name, scope: 'row' }), element('td', { textContent: value })));
  const close = element('button', { type: 'button', textContent: 'Close' });
  close.addEventListener('click', closeEvent);
  $('event').replaceChildren(
    close,
    element('b', { textContent: `event ${seq}: ${id} ${label}` }),
    element('div', {}, element('pre', { textContent: bytes }), element('table', {}, element('tbody', {}, ...rows))));
  $('event').hidden = false;
  $('hint').textContent = '';
  $('event').scrollTop = 0;
}

addEventListener('message', ({ source, data }) => {
  if (source !== $('page').contentWindow || !Number.isSafeInteger(data?.chosen)) return;
  // An event is shown when the choice rests.
  clearTimeout(waiting);
  waiting = setTimeout(() => showEvent(data.chosen), 150);
});

// Perfetto: its page answers PING once it is ready for a timeline.

const PERFETTO = 'https://ui.perfetto.dev';

async function handOver() {
  // A window opens only at once after a click.
  const other = open(PERFETTO);
  if (!other) { say('The browser did not open a window for ui.perfetto.dev: save the timeline and open it there.', true); return; }
  const done = await whole('timeline');
  if (!done) return;
  const buffer = await done.blob.arrayBuffer();
  let tries = 0;
  const asking = setInterval(() => {
    tries += 1;
    if (other.closed || tries > 600) { clearInterval(asking); removeEventListener('message', answered); }
    else other.postMessage('PING', PERFETTO);
  }, 100);
  function answered({ source, origin, data }) {
    if (source !== other || origin !== PERFETTO || data !== 'PONG') return;
    clearInterval(asking);
    removeEventListener('message', answered);
    other.postMessage({ perfetto: { buffer, title: title(), fileName: `${title()}.pftrace` } }, PERFETTO);
    say(`The timeline of ${plural(done.result.events, 'event')} is in Perfetto's window.`);
  }
  addEventListener('message', answered);
}

// Parts of the page.

function show(name) {
  tab = name;
  for (const other of ['report', 'explore']) {
    $(`tab-${other}`).setAttribute('aria-selected', other === name);
    $(`tab-${other}`).tabIndex = other === name ? 0 : -1;
    $(other).hidden = other !== name;
  }
  refresh();
}

function refresh() {
  $('notices').hidden = true;
  if (tab === 'report') makeReport(); else makeExplore();
}

function soon() {
  clearTimeout(waiting);
  waiting = setTimeout(refresh, 250);
}

/** Uses a trace. The sample's template follows it, unless the user has written one. */
function useTrace(next, nextFiles = []) {
  [trace, files] = [next, nextFiles];
  const choice = next.kind === 'sample' ? next.name : next.kind;
  $('sample').value = choice;
  const option = $('sample').querySelector('[value=files]');
  option.hidden = files.length === 0;
  option.textContent = files.length > 1 ? plural(files.length, 'file') : files[0]?.name ?? '';
  $('paste').hidden = next.kind !== 'pasted';
  if (editor.text === given) {
    const text = next.kind === 'sample' ? TEMPLATES[next.name] : next.kind === 'files' ? '' : given;
    if (text !== given) { given = text; editor.open(given); templateName = 'template'; }
  }
  refresh();
}

function useTemplate(text, name) {
  templateName = name;
  editor.open(text);
  given = null;
  refresh();
}

/** True if a file is text, as templates are. */
async function isText(found) {
  if (found.size > MAX_TEMPLATE) return false;
  const head = new Uint8Array(await found.slice(0, 4096).arrayBuffer());
  if (head.includes(0) || head.length === 0) return false;
  // QNX's logs begin with attributes that are text.
  return !new TextDecoder('latin1').decode(head).includes('TRACE_HEADER_BEGIN');
}

/** Uses files as one trace: a base file with its files per CPU, or traces that are merged. */
function useFiles(found) {
  const named = found.map(({ name, size, lastModified }) => ({ name, size, modified: lastModified }));
  useTrace({ kind: 'files', files: named }, found);
}

async function take(found) {
  const kinds = await Promise.all(found.map(isText));
  const traces = found.filter((_, at) => !kinds[at]);
  const [template, another] = found.filter((_, at) => kinds[at]);
  if (another) return say(`${template.name} and ${another.name} are both templates: drop one of them`, true);
  if (traces.length) useFiles(traces);
  if (template) useTemplate(await template.text(), template.name);
}

function listen() {
  $('sample').addEventListener('change', () => {
    const value = $('sample').value;
    if (value === 'pasted') {
      if ($('hex').value === '') { $('hex').value = EXAMPLE_HEX; $('hex-kind').value = '32'; }
      useTrace({ kind: 'pasted', text: $('hex').value });
    } else if (value === 'files') useTrace(trace, files);
    else useTrace({ kind: 'sample', name: value });
  });
  $('hex').addEventListener('input', () => { trace = { kind: 'pasted', text: $('hex').value }; soon(); });
  for (const id of ['hex-kind', 'qnx-event']) {
    $(id).addEventListener('input', () => { $('qnx-id').hidden = $('hex-kind').value !== 'qnx'; soon(); });
  }
  $('open-trace').addEventListener('click', () => $('trace-file').click());
  $('open-template').addEventListener('click', () => $('template-file').click());
  $('trace-file').addEventListener('change', ({ target }) => {
    const found = [...target.files];
    if (found.length) useFiles(found);
    target.value = '';
  });
  $('template-file').addEventListener('change', async ({ target }) => {
    const [found] = target.files;
    if (found && found.size <= MAX_TEMPLATE) useTemplate(await found.text(), found.name);
    else if (found) say(`${found.name} has ${size(found.size)}; a template has at most ${size(MAX_TEMPLATE)}`, true);
    target.value = '';
  });
  $('built-in').addEventListener('change', refresh);
  $('filter').addEventListener('submit', (event) => { event.preventDefault(); refresh(); });
  $('filter').addEventListener('reset', () => setTimeout(refresh));
  $('format').addEventListener('click', () => editor.format());
  $('save-template').addEventListener('click', () => save(new Blob([editor.text]), templateName === 'template' ? 'template.trcfmt' : templateName));
  $('save-report').addEventListener('click', async () => {
    const done = isOneEvent() ? { blob: new Blob([$('text').textContent]) } : await whole('report');
    if (done) save(done.blob, `${title()}.txt`);
  });
  $('save-page').addEventListener('click', () => { if (pageText !== null) save(new Blob([pageText], { type: 'text/html' }), `${title()}.html`); });
  $('save-timeline').addEventListener('click', async () => {
    const done = await whole('timeline');
    if (done) save(done.blob, `${title()}.pftrace`);
  });
  $('perfetto').addEventListener('click', handOver);
  $('cancel').addEventListener('click', () => { engine.cancel(); say('The run was cancelled.'); $('cancel').hidden = true; $('progress').hidden = true; });
  for (const name of ['report', 'explore']) $(`tab-${name}`).addEventListener('click', () => show(name));
  document.querySelector('[role=tablist]').addEventListener('keydown', (event) => {
    if (event.target.getAttribute('role') !== 'tab' || !['ArrowLeft', 'ArrowRight'].includes(event.key)) return;
    show(tab === 'report' ? 'explore' : 'report');
    $(`tab-${tab}`).focus();
  });
  $('next-finding').addEventListener('click', () => editor.next());
  $('template-button').addEventListener('click', () => {
    const isHidden = document.body.classList.toggle('no-template');
    $('template-button').setAttribute('aria-pressed', !isHidden);
  });
  $('about-button').addEventListener('click', () => $('about').showModal());
  let over = 0;
  addEventListener('dragenter', (event) => { event.preventDefault(); over += 1; $('drop').hidden = false; });
  addEventListener('dragleave', () => { over -= 1; if (over <= 0) $('drop').hidden = true; });
  addEventListener('dragover', (event) => event.preventDefault());
  addEventListener('drop', (event) => {
    event.preventDefault();
    over = 0;
    $('drop').hidden = true;
    take([...event.dataTransfer.files]);
  });
}

(async () => {
  try {
    const module = await load();
    engine = new Engine(module);
    editor = new Editor($('editor'), worker(module), {
      changed: () => soon(),
      found({ error, warning }) {
        const parts = [error && plural(error, 'error'), warning && plural(warning, 'warning')].filter(Boolean);
        $('next-finding').hidden = !parts.length;
        const text = parts.join(', ');
        if ($('findings').textContent !== text) $('findings').textContent = text;
        $('findings').classList.toggle('errors', error > 0);
      },
    });
    given = AIX_TEMPLATE;
    editor.open(given);
    listen();
    // Tests use these, and so may a reader of the page.
    Object.assign(globalThis, { tfbc: { editor, useTrace, useTemplate, take } });
    refresh();
    document.documentElement.dataset.ready = 'yes';
  } catch (error) {
    $('failure').textContent = `The page cannot start: ${error}. It needs a browser of 2023 or later.`;
    $('failure').hidden = false;
    throw error;
  }
})();
