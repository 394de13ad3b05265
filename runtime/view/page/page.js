'use strict';
// The page's data are strings from a trace. They are shown by `textContent` alone, never as HTML.
(() => {
const $ = (id) => document.getElementById(id);
const element = (name, properties, ...children) => {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
};
document.documentElement.classList.add('js');

// Data: JSON, compressed, in base64.

async function read(id) {
  const block = $(id);
  if (!block) return null;
  const text = block.textContent;
  block.remove();
  const bytes = Uint8Array.fromBase64 ? Uint8Array.fromBase64(text) : Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'))).json();
}

function seconds(ns, digits = 9) {
  const sign = ns < 0 ? '-' : '';
  const whole = Math.floor(Math.abs(ns) / 1e9);
  const rest = String(Math.round(Math.abs(ns) - whole * 1e9)).padStart(9, '0');
  return digits === 0 ? `${sign}${whole}` : `${sign}${whole}.${rest.slice(0, digits)}`;
}

function duration(ns) {
  const units = [[1e9, 's'], [1e6, 'ms'], [1e3, 'µs'], [1, 'ns']];
  const [size, unit] = units.find(([size]) => Math.abs(ns) >= size) ?? [1, 'ns'];
  return `${Number((ns / size).toPrecision(4))} ${unit}`;
}

// Parts of the page.

/** True if another page shows this one; it is told which event is chosen. */
const inFrame = window.parent !== window;
const PARTS = ['events', 'summary', 'timeline', 'about'];
let part = '';

function open(name) {
  part = PARTS.includes(name) ? name : 'events';
  for (const other of PARTS) {
    $(other).classList.toggle('open', other === part);
    const link = document.querySelector(`nav a[href="#${other}"]`);
    if (other === part) link.setAttribute('aria-current', 'page'); else link.removeAttribute('aria-current');
  }
  if (part === 'events') report?.draw();
  if (part === 'summary') overview?.draw();
  if (part === 'timeline') timeline?.draw();
}

function go(name) {
  // The address keeps the part, so that "back" works. In a frame the address is the other page's.
  if (!inFrame && location.hash !== `#${name}`) history.pushState(null, '', `#${name}`);
  open(name);
  ({ events: $('list'), timeline: $('tracks') })[part]?.focus();
}

document.querySelectorAll('nav a').forEach((link) => link.addEventListener('click', (event) => {
  event.preventDefault();
  go(link.hash.slice(1));
}));
window.addEventListener('popstate', () => open(location.hash.slice(1)));

// Words of a filter or search.

/** Pattern of a text: `/regex/`, or the text itself. */
function pattern(text, flags) {
  const regex = /^\/(.+?)\/?$/.exec(text);
  return new RegExp(regex ? regex[1] : text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'), flags);
}

/** Returns a test of texts: all words, and none of those that begin with `-`. */
function tester(text) {
  text = text.trim();
  if (!text) return null;
  if (text.startsWith('/') && text.length > 1) {
    const regex = pattern(text, 'i');
    return (line) => regex.test(line);
  }
  const words = text.toLowerCase().split(/\s+/);
  const wanted = words.filter((word) => !word.startsWith('-') || word === '-');
  const unwanted = words.filter((word) => word.startsWith('-') && word !== '-').map((word) => word.slice(1));
  return (line) => {
    line = line.toLowerCase();
    return wanted.every((word) => line.includes(word)) && !unwanted.some((word) => line.includes(word));
  };
}

// Report.

const MAX_HEIGHT = 8e6;
let report = null;

function makeReport(data) {
  const n = data.seq.length;
  const name = (at) => (data.process[at] === null ? '' : data.processes[data.process[at]]);
  const id = (at) => data.ids[2 * data.id[at]];
  const label = (at) => data.ids[2 * data.id[at] + 1];
  const or = (value) => (value === null ? '' : String(value));
  const COLUMNS = [
    { name: 'seq', title: 'Number of the event in the trace', number: true, of: (at) => String(data.seq[at]) },
    { name: 'time', title: 'Seconds since the start of the trace', number: true, on: true, of: (at) => (data.time[at] === null ? '' : seconds(data.time[at])) },
    { name: 'delta', title: 'Microseconds since the event before it on this page', number: true, on: true,
      of: (at) => (at > 0 && data.time[at] !== null && data.time[at - 1] !== null ? ((data.time[at] - data.time[at - 1]) / 1e3).toFixed(3) : '') },
    { name: 'cpu', title: 'CPU', number: true, on: true, of: (at) => or(data.cpu[at]) },
    { name: 'process', title: 'Name of the process', on: true, of: name },
    { name: 'pid', title: 'Process id', number: true, of: (at) => or(data.pid[at]) },
    { name: 'tid', title: 'Thread id', number: true, on: true, of: (at) => or(data.tid[at]) },
    { name: 'id', title: 'Id of the event', on: true, of: id },
    { name: 'label', title: 'Label of the template', of: label },
    { name: 'text', title: 'Text of the event', on: true, wide: true,
      of: (at) => (data.note[at] === null ? data.text[at] : `${data.text[at]} [${data.notes[data.note[at]]}]`) },
  ];
  const isUsed = (column) => { for (let at = 0; at < n; at += 1) if (column.of(at) !== '') return true; return false; };
  for (const column of COLUMNS) {
    column.on = Boolean(column.on) && isUsed(column);
    let width = column.name.length;
    for (let at = 0; at < n && !column.wide; at += 1) width = Math.max(width, Math.min(24, column.of(at).length));
    column.width = width;
  }
  const list = $('list');
  const space = $('space');
  const narrow = matchMedia('(max-width: 40rem)');
  let shown = [];   // indices of events; notices are -1 - index
  let chosen = -1;  // position in `shown`
  let find = null;
  let matches = null;

  const line = (at) => `${name(at)} ${or(data.pid[at])} ${or(data.tid[at])} ${id(at)} ${label(at)} ${data.text[at]}`;
  const rowHeight = () => (narrow.matches ? 2.9 : 1.5) * parseFloat(getComputedStyle(document.documentElement).fontSize);
  const headHeight = () => $('head').offsetHeight;

  // Filter.

  function options(select, values) {
    const counts = new Map();
    for (const value of values) if (value !== '') counts.set(value, (counts.get(value) ?? 0) + 1);
    const sorted = [...counts].sort(([a], [b]) => a.localeCompare(b, 'en', { numeric: true })).slice(0, 5000);
    for (const [value, count] of sorted) {
      const text = select.id === 'by-id' && labels.get(value) ? `${value} ${labels.get(value)}` : value;
      select.append(element('option', { value, textContent: `${text} (${count})` }));
    }
  }

  const labels = new Map();
  for (let at = 0; at < data.ids.length; at += 2) labels.set(data.ids[at], data.ids[at + 1]);
  const every = function* (of) { for (let at = 0; at < n; at += 1) yield of(at); };
  options($('by-id'), every(id));
  options($('by-process'), every(name));
  options($('by-cpu'), every((at) => or(data.cpu[at])));

  function checked(input, make) {
    try {
      const made = make(input.value.trim());
      input.classList.remove('wrong');
      input.removeAttribute('aria-invalid');
      return made;
    } catch {
      input.classList.add('wrong');
      input.setAttribute('aria-invalid', 'true');
      return null;
    }
  }

  const time = (text) => {
    if (text === '') return null;
    const value = Number(text.replace(',', '.'));
    if (!Number.isFinite(value)) throw new Error('no number');
    return Math.round(value * 1e9);
  };

  function filter() {
    const kept = chosen >= 0 ? shown[chosen] : null;
    const words = checked($('words'), tester);
    const [from, until] = [checked($('from'), time), checked($('until'), time)];
    const [byId, byProcess, byCpu] = ['by-id', 'by-process', 'by-cpu'].map((select) => $(select).value);
    shown = [];
    let notice = 0;
    const notices = (before) => {
      while (notice < data.notices.length && data.notices[notice][0] <= before) shown.push(-1 - notice++);
    };
    for (let at = 0; at < n; at += 1) {
      notices(at);
      if (from !== null && !(data.time[at] !== null && data.time[at] >= from)) continue;
      if (until !== null && !(data.time[at] !== null && data.time[at] <= until)) continue;
      if (byId && id(at) !== byId) continue;
      if (byProcess && name(at) !== byProcess) continue;
      if (byCpu && or(data.cpu[at]) !== byCpu) continue;
      if (words && !words(line(at))) continue;
      shown.push(at);
    }
    notices(n);
    sort();
    chosen = kept === null ? -1 : shown.indexOf(kept);
    list.setAttribute('aria-rowcount', shown.length + 1);
    search();
  }

  // Order.

  /** Column that the events are sorted by, if it is not the order of the trace. */
  function order() {
    const [name, down] = $('by-order').value.split(' ');
    return { name, down: down === 'down' };
  }

  /** Sorts the events by the chosen column; notices keep their places in the order of the trace, and are last in others. */
  function sort() {
    const { name, down } = order();
    const column = COLUMNS.find((column) => column.name === name);
    drawHead();
    if (!column) return;
    const notices = shown.filter((at) => at < 0);
    const keyed = shown.filter((at) => at >= 0).map((at) => ({ at, key: column.of(at) }));
    const compared = new Intl.Collator('en', { numeric: true }).compare;
    const compare = column.number ? (one, other) => one - other : compared;
    // What has no value is last in both directions.
    keyed.sort((one, other) => (one.key === '') - (other.key === '') ||
      (down ? compare(other.key, one.key) : compare(one.key, other.key)) || one.at - other.at);
    shown = keyed.map(({ at }) => at).concat(notices);
  }

  function orderBy(value) {
    $('by-order').value = value;
    filter();
    list.scrollTop = 0;
  }

  // Search.

  function search() {
    const text = $('find-text').value.trim();
    find = checked($('find-text'), (text) => (text ? pattern(text, 'gi') : null));
    matches = null;
    if (find) {
      const once = new RegExp(find.source, 'i');
      matches = [];
      shown.forEach((at, place) => { if (once.test(at < 0 ? data.notices[-1 - at][2] : line(at))) matches.push(place); });
    }
    count();
    draw();
    return text !== '';
  }

  function count() {
    const events = shown.filter((at) => at >= 0).length;
    let text = events === n ? `${n} events` : `${events} of ${n} events`;
    if (matches) {
      const at = matches.indexOf(chosen);
      text += at < 0 ? `, ${matches.length} matches` : `, match ${at + 1} of ${matches.length}`;
    }
    $('count').textContent = text;
  }

  function next(step) {
    if (!matches?.length) return;
    const after = step > 0 ? matches.find((place) => place > chosen) : matches.findLast((place) => place < chosen);
    choose(after ?? matches.at(step > 0 ? 0 : -1));
  }

  // List: only the visible rows are in the page. Browsers limit the height of elements, so a long list is scaled.

  const sizes = () => {
    const row = rowHeight();
    const view = Math.max(list.clientHeight - headHeight(), row);
    const total = shown.length * row;
    const height = Math.min(total, MAX_HEIGHT);
    const scale = height > view ? (total - view) / (height - view) : 1;
    return { row, view, total, height, scale };
  };

  function marked(text, cell) {
    if (!find) { cell.textContent = text; return; }
    let from = 0;
    for (const match of text.matchAll(find)) {
      if (match[0] === '') continue;
      cell.append(text.slice(from, match.index), element('mark', { textContent: match[0] }));
      from = match.index + match[0].length;
    }
    cell.append(text.slice(from));
  }

  const flat = (text) => text.replace(/\s*\n\s*/g, ' ⏎ ').slice(0, 4000);

  function drawRow(place, top) {
    const at = shown[place];
    const row = element('div', { id: `row-${place}`, className: 'row' });
    row.setAttribute('role', 'row');
    row.setAttribute('aria-rowindex', place + 2);
    row.setAttribute('aria-selected', place === chosen);
    row.classList.toggle('chosen', place === chosen);
    row.style.top = `${top}px`;
    row.dataset.place = place;
    if (at < 0) {
      const [, damage, message] = data.notices[-1 - at];
      row.classList.add('notice');
      row.classList.toggle('damage', damage);
      const cell = element('span', {});
      cell.setAttribute('role', 'gridcell');
      marked(`${damage ? '✖ damage: ' : '⚠ '}${flat(message)}`, cell);
      row.append(cell);
      return row;
    }
    for (const column of COLUMNS) {
      if (!column.on) continue;
      const text = column.of(at);
      const cell = element('span', { className: column.wide ? 'text' : column.number ? 'dim number' : 'dim' });
      cell.setAttribute('role', 'gridcell');
      if (column.wide || column.name === 'process' || column.name === 'id' || column.name === 'label') marked(flat(text), cell); else cell.textContent = text;
      if (text.length > column.width && !column.wide) cell.title = text;
      row.append(cell);
    }
    return row;
  }

  function draw() {
    if (part !== 'events') return;
    const { row, view, height, scale } = sizes();
    const seen = COLUMNS.filter((column) => column.on);
    list.style.setProperty('--columns', seen.map((column) => (column.wide ? 'minmax(30ch, 1fr)' : `${column.width}ch`)).join(' '));
    list.style.setProperty('--width', `${seen.reduce((sum, column) => sum + (column.wide ? 30 : column.width) + 1, 1)}ch`);
    space.style.height = `${height}px`;
    const offset = list.scrollTop * scale;
    const first = Math.max(0, Math.floor(offset / row) - 4);
    const last = Math.min(shown.length, Math.ceil((offset + view) / row) + 4);
    const rows = [];
    for (let place = first; place < last; place += 1) rows.push(drawRow(place, list.scrollTop + place * row - offset));
    space.replaceChildren(...rows);
    if (chosen >= first && chosen < last) list.setAttribute('aria-activedescendant', `row-${chosen}`);
    else list.removeAttribute('aria-activedescendant');
  }

  function drawHead() {
    const { name, down } = order();
    $('head').replaceChildren(...COLUMNS.filter((column) => column.on).map((column) => {
      const cell = element('span', { textContent: column.name, title: column.title, className: column.number ? 'number' : '' });
      cell.setAttribute('role', 'columnheader');
      cell.dataset.name = column.name;
      if (column.name === name) cell.setAttribute('aria-sort', down ? 'descending' : 'ascending');
      return cell;
    }));
  }

  /** Scrolls as little as needed to show the chosen row. */
  function showChosen() {
    const { row, view, scale } = sizes();
    const offset = list.scrollTop * scale;
    if (chosen * row < offset) list.scrollTop = (chosen * row) / scale;
    else if ((chosen + 1) * row > offset + view) list.scrollTop = ((chosen + 1) * row - view) / scale;
  }

  function choose(place, keep = false) {
    if (!shown.length) return;
    chosen = Math.max(0, Math.min(shown.length - 1, place));
    if (!keep) showChosen();
    drawChosen();
    count();
    draw();
    if (inFrame && shown[chosen] >= 0) window.parent.postMessage({ chosen: data.seq[shown[chosen]] }, '*');
  }

  function drawChosen() {
    const at = shown[chosen];
    if (at === undefined) { $('chosen').replaceChildren(); return; }
    if (at < 0) {
      const [, damage, message] = data.notices[-1 - at];
      $('chosen').replaceChildren(element('div', { className: 'facts' }, damage ? 'damage' : 'notice'), element('pre', { textContent: message }));
      return;
    }
    const facts = element('div', { className: 'facts' });
    for (const column of COLUMNS.filter((column) => !column.wide)) {
      const text = column.of(at);
      if (text === '') continue;
      facts.append(`${facts.childNodes.length ? ' · ' : ''}${column.name} `, element('b', { textContent: text }));
    }
    if (timeline && data.time[at] !== null) {
      const button = element('button', { type: 'button', textContent: 'Timeline (t)' });
      button.addEventListener('click', showTime);
      facts.append(button);
    }
    const text = element('pre', {});
    marked(COLUMNS.at(-1).of(at), text);
    $('chosen').replaceChildren(facts, text);
  }

  function showTime() {
    const at = shown[chosen];
    if (timeline && at >= 0 && data.time[at] !== null) { go('timeline'); timeline.show(data.time[at]); }
  }

  /** Chooses the first event at or after a time. */
  function showAt(ns) {
    if (order().name) orderBy('');
    const place = shown.findIndex((at) => at >= 0 && data.time[at] !== null && data.time[at] >= ns);
    go('events');
    if (place >= 0) choose(place);
  }

  let pending = 0;
  const later = (run) => () => { clearTimeout(pending); pending = setTimeout(run, 120); };
  for (const input of ['words', 'from', 'until']) $(input).addEventListener('input', later(filter));
  for (const select of ['by-id', 'by-process', 'by-cpu']) $(select).addEventListener('change', filter);
  $('filter').addEventListener('submit', (event) => { event.preventDefault(); filter(); list.focus(); });
  $('clear').addEventListener('click', () => { $('filter').reset(); filter(); });
  $('find-text').addEventListener('input', later(search));
  $('find').addEventListener('submit', (event) => { event.preventDefault(); clearTimeout(pending); search(); next(1); list.focus(); });
  for (const { name, wide } of COLUMNS) {
    if (name === 'seq') continue;
    for (const [way, arrow] of [['up', '↑'], ['down', '↓']]) {
      $('by-order').append(element('option', { value: `${name} ${way}`, textContent: `${name} ${arrow}` }));
    }
  }
  $('by-order').addEventListener('change', () => orderBy($('by-order').value));
  $('head').addEventListener('click', (event) => {
    const clicked = event.target.dataset.name;
    const { name, down } = order();
    // Up, down, and back to the order of the trace.
    if (clicked) orderBy(clicked !== name ? `${clicked} up` : down ? '' : `${clicked} down`);
  });
  $('find-previous').addEventListener('click', () => next(-1));
  list.addEventListener('scroll', draw, { passive: true });
  new ResizeObserver(() => {
    // The page around this one shows the chosen event, which makes the list smaller.
    if (inFrame && chosen >= 0) showChosen();
    draw();
  }).observe(list);
  list.addEventListener('click', (event) => {
    const row = event.target.closest('.row');
    if (row) choose(Number(row.dataset.place), true);
  });
  list.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor(list.clientHeight / rowHeight()) - 2);
    const to = {
      ArrowDown: chosen + 1, j: chosen + 1, ArrowUp: chosen - 1, k: chosen - 1, PageDown: chosen + page, ' ': chosen + page,
      PageUp: chosen - page, b: chosen - page, Home: 0, g: 0, End: shown.length - 1, G: shown.length - 1,
    }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    choose(to);
  });
  for (const column of COLUMNS) {
    const box = element('input', { type: 'checkbox', checked: column.on });
    box.addEventListener('change', () => { column.on = box.checked; drawHead(); draw(); });
    $('column-list').append(element('label', { title: column.title }, box, ` ${column.name}`));
  }
  drawHead();
  report = { draw, next, showAt, showTime, drawChosen };
  filter();
  // A new list shows its last chosen row when the page is narrow as well.
  narrow.addEventListener('change', draw);
}

// Charts, which uPlot draws: axes, scales, the pointer's line.

const FONT = '12px system-ui, sans-serif';
/** Height of an axis with times. */
const AXIS = 22;
/** Distances of the marks on an axis: 1, 2 and 5 times the powers of ten, in nanoseconds. */
const INCREMENTS = Array.from({ length: 48 }, (_, at) => [1, 2, 5][at % 3] * 10 ** Math.floor(at / 3));
const dark = matchMedia('(prefers-color-scheme: dark)');
const colourOf = (name) => getComputedStyle(document.documentElement).getPropertyValue(name);

/** Axis of a chart, in the colours of the page. */
const axis = (more) => ({
  font: FONT, stroke: () => colourOf('--dim'), ticks: { show: false },
  grid: { stroke: () => colourOf('--line'), width: 1 }, ...more,
});

/** Axis of times, in seconds with as many decimals as its marks need. */
const timeAxis = (more) => axis({
  space: 80, incrs: INCREMENTS,
  values(_plot, marks, _axis, _space, step) {
    const digits = Math.min(9, Math.max(0, 9 - Math.floor(Math.log10(step))));
    return marks.map((ns) => seconds(ns, digits));
  },
  ...more,
});

/** Chart over time. */
function chart(parent, width, height, options, data) {
  return new uPlot({
    width, height, legend: { show: false }, ...options,
    cursor: {
      y: false, points: { show: false }, drag: { x: false, y: false, setScale: false }, bind: { dblclick: () => null },
    },
  }, data, parent);
}

/** Earliest start and latest end of the slices. */
function spanOf(tracks) {
  let [first, last] = [Infinity, 0];
  for (const { start, length } of tracks) {
    for (let at = 0; at < start.length; at += 1) {
      first = Math.min(first, start[at]);
      last = Math.max(last, start[at] + length[at]);
    }
  }
  return [first, Math.max(last, first + 1)];
}

// Summary: events and busy CPUs over time, above the tables.

/** Parts of the time that a bar of the chart counts. */
const PARTS_OF_TIME = 100;
const OVERVIEW_HEIGHT = 150;
/** Categories of a CPU's slices in which it does not work, or nothing is known of it. */
const NOT_BUSY = ['idle', 'off', 'switch', 'lost'];
let overview = null;

function makeOverview(events, tracks) {
  const known = events.time.filter((ns) => ns !== null);
  if (known.length < 2) return;
  let [first, last] = tracks ? spanOf(tracks.tracks) : [Infinity, 0];
  for (const ns of known) { first = Math.min(first, ns); last = Math.max(last, ns); }
  const step = Math.max(1, (last - first) / PARTS_OF_TIME);
  const part = (ns) => Math.min(PARTS_OF_TIME - 1, Math.floor((ns - first) / step));
  const starts = Array.from({ length: PARTS_OF_TIME }, (_, at) => first + at * step);
  const counts = new Array(PARTS_OF_TIME).fill(0);
  for (const ns of known) counts[part(ns)] += 1;

  const isBusy = (category) => !NOT_BUSY.includes(tracks.texts[category]);
  const cpus = tracks?.tracks.filter(({ group, category }) => group === 'CPUs' && category.some(isBusy)) ?? [];
  const busy = new Array(PARTS_OF_TIME).fill(0);
  for (const { start, length, depth, category } of cpus) {
    for (let at = 0; at < start.length; at += 1) {
      if (depth[at] > 0 || !isBusy(category[at])) continue;
      const end = start[at] + length[at];
      for (let of = part(start[at]); of < PARTS_OF_TIME && starts[of] < end; of += 1) {
        busy[of] += Math.max(0, Math.min(end, starts[of] + step) - Math.max(start[at], starts[of]));
      }
    }
  }
  // Slices overlap if times go back.
  const percent = busy.map((ns) => Math.min(100, (100 * ns) / (step * cpus.length)));
  const hasBusy = cpus.length > 0;

  const view = $('overview');
  view.hidden = false;
  let plot = null;
  let chosen = -1;
  const say = (at) => {
    chosen = at;
    const parts = at < 0 ?
      ['Bars: events.', hasBusy && ' Line: how busy the CPUs were.', tracks && ' Click a time to see it in the timeline.'] :
      [`${seconds(starts[at])} s to ${seconds(starts[at] + step)} s: ${counts[at]} events`,
        hasBusy && `, CPUs ${percent[at].toFixed(0)} % busy`];
    $('moment').textContent = parts.filter(Boolean).join('');
  };
  const show = () => { if (timeline && chosen >= 0) { go('timeline'); timeline.show(starts[chosen] + step / 2); } };
  const draw = () => {
    const width = view.clientWidth;
    if (!width) return;
    if (plot) { plot.setSize({ width, height: OVERVIEW_HEIGHT }); return; }
    const bars = {
      scale: 'events', fill: () => colourOf('--bars'), width: 0, points: { show: false },
      paths: uPlot.paths.bars({ size: [0.9, Infinity], align: 1 }),
    };
    const line = {
      scale: '%', stroke: () => colourOf('--link'), width: 1.5, points: { show: false },
      paths: uPlot.paths.stepped({ align: 1 }),
    };
    const percents = (_plot, marks) => marks.map((mark) => `${mark} %`);
    plot = chart(view, width, OVERVIEW_HEIGHT, {
      scales: {
        x: { time: false, range: [first, last] },
        events: { range: (_plot, _min, max) => [0, Math.max(1, max) * 1.05] },
        '%': { range: [0, 105] },
      },
      series: [{}, bars, ...(hasBusy ? [line] : [])],
      axes: [
        timeAxis({ size: AXIS }),
        axis({ scale: 'events', size: 44, space: 30, grid: { show: false }, incrs: INCREMENTS }),
        ...(hasBusy ? [axis({ scale: '%', side: 1, size: 44, space: 30, values: percents })] : []),
      ],
      hooks: { setCursor: [({ cursor }) => { if (cursor.event) say(cursor.idx ?? -1); }] },
    }, [starts, counts, ...(hasBusy ? [percent] : [])]);
    plot.over.addEventListener('click', show);
  };
  view.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const end = PARTS_OF_TIME - 1;
    const to = {
      ArrowLeft: Math.max(0, chosen - 1), ArrowRight: Math.min(end, chosen + 1), Home: 0, End: end,
    }[event.key];
    if (to !== undefined && plot) {
      say(to);
      plot.setCursor({ left: plot.valToPos(starts[to] + step / 2, 'x'), top: 0 });
    } else if (event.key === 'Enter' || event.key === 't') {
      show();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  });
  say(-1);
  new ResizeObserver(draw).observe(view);
  dark.addEventListener('change', () => plot?.redraw());
  overview = { draw };
}

// Timeline.

const LANE = 18;
const GROUP = 22;
let timeline = null;

function makeTimeline(data) {
  const view = $('tracks');
  const tracks = [];
  let height = 0;
  let group = null;
  // CPUs first, by number, then marks, then processes in the order of their starts.
  const rank = (group) => ['CPUs', 'marks'].indexOf(group) + 1 || 3;
  const { compare } = new Intl.Collator('en', { numeric: true });
  const order = (one, other) => rank(one.group) - rank(other.group) || (one.group === 'CPUs' ? compare(one.name, other.name) : 0);
  for (const track of data.tracks.toSorted(order)) {
    const n = track.start.length;
    const end = track.start.map((start, at) => start + track.length[at]);
    const lanes = track.depth.reduce((deepest, depth) => Math.max(deepest, depth), 0) + 1;
    const title = group === track.group ? null : track.group;
    if (title !== null) height += GROUP;
    group = track.group;
    tracks.push({ ...track, n, end, lanes, title, top: height });
    height += lanes * LANE + 6;
  }
  if (!tracks.length) { $('slice').textContent = 'The trace has no slices.'; return; }
  const [first, last] = spanOf(tracks);
  let [from, until] = [first, last];
  let track = 0;
  let slice = -1;
  let mark = null;
  let plot = null;

  const names = () => Math.min(150, Math.max(100, view.clientWidth * 0.22));
  /** Height of the tracks that are seen. */
  const tall = () => view.clientHeight - AXIS;

  const hues = new Map();
  function colour(text, category) {
    const name = data.texts[text];
    if (['idle', 'switch', 'off'].includes(category) || name === 'idle') return dark.matches ? '#3a424c' : '#d3d8de';
    if (category === 'lost') return dark.matches ? '#7d2f2a' : '#e6a09b';
    if (!hues.has(text)) {
      let hash = 7;
      // Names of threads differ in their numbers, which should not change the colour of their program.
      for (const letter of name.replace(/ [\d.]+$/, '')) hash = (hash * 31 + letter.codePointAt(0)) >>> 0;
      hues.set(text, hash % 360);
    }
    return `hsl(${hues.get(text)} ${dark.matches ? '45% 32%' : '60% 78%'})`;
  }

  /** Text that fits into a width. */
  function fitting(paint, text, width) {
    if (paint.measureText(text).width <= width) return text;
    let end = text.length;
    while (end > 1 && paint.measureText(`${text.slice(0, end)}…`).width > width) end -= 1;
    return `${text.slice(0, end)}…`;
  }

  /** Draws in CSS pixels, within a rectangle. */
  function within({ ctx: paint }, left, top, width, height, draw) {
    paint.save();
    paint.scale(uPlot.pxRatio, uPlot.pxRatio);
    paint.beginPath();
    paint.rect(left, top, width, height);
    paint.clip();
    paint.font = FONT;
    paint.textBaseline = 'middle';
    paint.textAlign = 'left';
    draw(paint);
    paint.restore();
  }

  /** Tracks that are seen, with the places of their first lanes. */
  const seen = () => {
    const scroll = view.scrollTop;
    return tracks.filter(({ top, lanes }) => top - GROUP < scroll + tall() && top + lanes * LANE + 6 > scroll);
  };

  /** Bars of groups, and the name that is chosen. */
  function drawBack(plot) {
    const [bar, dim, chosen] = ['--bar', '--dim', '--chosen'].map(colourOf);
    within(plot, 0, AXIS, plot.width, tall(), (paint) => {
      for (const one of seen()) {
        const top = one.top - view.scrollTop + AXIS;
        if (one.title !== null) {
          paint.fillStyle = bar;
          paint.fillRect(0, top - GROUP, plot.width, GROUP - 2);
          paint.fillStyle = dim;
          paint.fillText(fitting(paint, one.title, plot.width - 12), 6, top - GROUP / 2 - 1);
        }
        if (one === tracks[track]) {
          paint.fillStyle = chosen;
          paint.fillRect(0, top - 1, names() - 4, one.lanes * LANE + 2);
        }
      }
    });
  }

  function drawSlices(plot) {
    const [left, wide] = [names(), plot.over.clientWidth];
    const x = (ns) => left + ((ns - from) / (until - from)) * wide;
    const [front, link, damage] = ['--front', '--link', '--damage'].map(colourOf);
    within(plot, left, AXIS - 1, wide, tall() + 1, (paint) => {
      for (const one of seen()) {
        const top = one.top - view.scrollTop + AXIS;
        const drawn = [];
        for (let at = 0; at < one.n; at += 1) {
          if (one.start[at] > until) break;
          if (one.end[at] < from) continue;
          const lane = one.depth[at];
          const isChosen = one === tracks[track] && at === slice;
          const [begin, end] = [x(one.start[at]), x(one.end[at])];
          const size = Math.max(1, Math.min(end, left + wide) - Math.max(begin, left));
          // Slices within one pixel of the last one would only cover it.
          if (size <= 1 && drawn[lane] !== undefined && begin - drawn[lane] < 0.5 && !isChosen) continue;
          drawn[lane] = begin;
          const y = top + lane * LANE;
          paint.fillStyle = colour(one.text[at], data.texts[one.category[at]]);
          if (one.length[at] === 0) {
            paint.fillStyle = link;
            paint.beginPath();
            paint.moveTo(begin, y + 1);
            paint.lineTo(begin + 4, y + LANE / 2);
            paint.lineTo(begin, y + LANE - 3);
            paint.lineTo(begin - 4, y + LANE / 2);
            paint.fill();
          } else {
            paint.fillRect(Math.max(begin, left - 2), y, size, LANE - 2);
            if (size > 22) {
              paint.fillStyle = front;
              const text = data.texts[one.text[at]].slice(0, 200);
              paint.fillText(fitting(paint, text, size - 5), Math.max(begin, left) + 3, y + LANE / 2 - 1);
            }
          }
          if (isChosen) {
            paint.strokeStyle = link;
            paint.lineWidth = 2;
            paint.strokeRect(Math.max(begin, left - 4), y, Math.max(size, 3), LANE - 2);
          }
        }
      }
      if (mark !== null && mark >= from && mark <= until) {
        paint.fillStyle = damage;
        paint.fillRect(Math.round(x(mark)), 0, 2, plot.height);
      }
    });
    // Nothing is left for uPlot to draw.
    return null;
  }

  function makePlot(width, height) {
    const name = axis({
      scale: 'y', side: 3, size: names, gap: 6, align: 1, alignTo: 2, grid: { show: false },
      stroke: () => colourOf('--front'),
      splits: () => seen().filter(({ top }) => top + LANE / 2 >= view.scrollTop).map(({ top }) => top + LANE / 2),
      values: ({ ctx }, places) => {
        ctx.save();
        ctx.font = FONT;
        const nameAt = (place) => tracks.find(({ top }) => top + LANE / 2 === place)?.name ?? '';
        const texts = places.map((place) => fitting(ctx, nameAt(place), names() - 12));
        ctx.restore();
        return texts;
      },
    });
    return chart($('plot'), width, height, {
      padding: [0, 0, 0, 0],
      scales: {
        x: { time: false, auto: false, range: () => [from, until] },
        y: { dir: -1, auto: false, range: () => [view.scrollTop, view.scrollTop + tall()] },
      },
      series: [{}, { scale: 'y', paths: drawSlices, points: { show: false } }],
      axes: [timeAxis({ side: 0, size: AXIS, gap: 4 }), name],
      hooks: { drawClear: [drawBack] },
    }, [[first, last], [0, height]]);
  }

  function draw() {
    if (part !== 'timeline') return;
    const [width, high] = [view.clientWidth, view.clientHeight];
    if (!width || !high) return;
    // The plot stays in the view, and this is what scrolls.
    $('tracks-space').style.height = `${Math.max(0, height - tall())}px`;
    if (!plot) {
      plot = makePlot(width, high);
      listen(plot);
    }
    plot.batch(() => {
      if (plot.width !== width || plot.height !== high) plot.setSize({ width, height: high });
      plot.setScale('x', { min: from, max: until });
      plot.setScale('y', { min: view.scrollTop, max: view.scrollTop + tall() });
    });
    $('span').textContent = `${seconds(from)} s to ${seconds(until)} s: ${duration(until - from)}`;
  }

  function describe() {
    const one = tracks[track];
    const out = $('slice');
    if (slice < 0) { out.replaceChildren(element('b', { textContent: one.name }), ` of ${one.group}: ${one.n} slices`); return; }
    const args = data.texts[one.args[slice]];
    const button = element('button', { type: 'button', textContent: 'Events (e)' });
    button.addEventListener('click', showEvents);
    out.replaceChildren(
      element('b', { textContent: data.texts[one.text[slice]] }),
      ` ${data.texts[one.category[slice]]}, ${one.name}: at ${seconds(one.start[slice])} s`,
      one.length[slice] ? ` for ${duration(one.length[slice])}` : '',
      args ? ` (${args})` : '', button);
  }

  function showEvents() {
    if (slice >= 0) report?.showAt(tracks[track].start[slice]);
  }

  function zoom(factor, at = (from + until) / 2) {
    const span = Math.min(Math.max((until - from) * factor, 10), last - first);
    const share = (at - from) / (until - from);
    move(at - share * span, span);
  }

  function move(start, span) {
    from = Math.max(first, Math.min(start, last - span));
    until = from + span;
    draw();
  }

  function choose(newTrack, newSlice) {
    track = Math.max(0, Math.min(tracks.length - 1, newTrack));
    slice = Math.max(-1, Math.min(tracks[track].n - 1, newSlice));
    const one = tracks[track];
    if (one.top - GROUP < view.scrollTop) view.scrollTop = one.top - GROUP;
    else if (one.top + one.lanes * LANE > view.scrollTop + tall()) {
      view.scrollTop = one.top + one.lanes * LANE - tall() + 6;
    }
    if (slice >= 0 && (one.end[slice] < from || one.start[slice] > until)) move((one.start[slice] + one.end[slice] - (until - from)) / 2, until - from);
    describe();
    draw();
  }

  /** Shows a time, with its surroundings. */
  function show(ns) {
    mark = ns;
    const span = Math.min(until - from, (last - first) / 4);
    move(ns - span / 2, Math.max(span, 10));
  }

  function step(by) {
    const one = tracks[track];
    if (slice < 0) {
      const at = one.start.findIndex((start, at) => one.end[at] >= from && start <= until);
      choose(track, at < 0 ? 0 : at);
    } else {
      choose(track, Math.max(0, slice + by));
    }
  }

  view.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const span = until - from;
    const act = {
      ArrowLeft: () => move(from - span / 5, span), ArrowRight: () => move(from + span / 5, span),
      ArrowUp: () => choose(track - 1, -1), ArrowDown: () => choose(track + 1, -1),
      '+': () => zoom(0.5), '=': () => zoom(0.5), '-': () => zoom(2), 0: () => move(first, last - first),
      Home: () => move(first, span), End: () => move(last - span, span),
      ',': () => step(-1), '.': () => step(1), e: showEvents, Enter: () => step(1),
    }[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
  const time = (event) => plot.posToVal(event.clientX - plot.over.getBoundingClientRect().left, 'x');
  view.addEventListener('wheel', (event) => {
    if (event.ctrlKey) zoom(event.deltaY > 0 ? 1.25 : 0.8, time(event));
    else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      move(from + ((event.deltaX || event.deltaY) / view.clientWidth) * (until - from), until - from);
    } else return;
    event.preventDefault();
  }, { passive: false });

  /** Dragging moves, two fingers zoom, and a click chooses. */
  function listen({ root, over }) {
    const pointers = new Map();
    let moved = false;
    root.addEventListener('pointerdown', (event) => {
      pointers.set(event.pointerId, event.clientX);
      moved = false;
      root.setPointerCapture(event.pointerId);
    });
    root.addEventListener('pointermove', (event) => {
      if (!pointers.has(event.pointerId)) return;
      const before = [...pointers.values()];
      pointers.set(event.pointerId, event.clientX);
      const after = [...pointers.values()];
      if (after.length === 2) {
        const factor = Math.abs(before[0] - before[1]) / Math.max(1, Math.abs(after[0] - after[1]));
        zoom(Math.min(2, Math.max(0.5, factor)), time(event));
      } else {
        move(from - ((after[0] - before[0]) / Math.max(1, over.clientWidth)) * (until - from), until - from);
      }
      moved ||= Math.abs(after[0] - before[0]) > 1;
    });
    const release = (event) => pointers.delete(event.pointerId);
    root.addEventListener('pointercancel', release);
    root.addEventListener('pointerup', (event) => {
      release(event);
      if (moved) return;
      const y = plot.posToVal(event.clientY - over.getBoundingClientRect().top, 'y');
      const hit = tracks.findIndex((one) => y >= one.top && y < one.top + one.lanes * LANE + 6);
      if (hit < 0) return;
      const one = tracks[hit];
      const lane = Math.floor((y - one.top) / LANE);
      const at = time(event);
      const near = ((until - from) / over.clientWidth) * 4;
      const isNear = (start, index) => one.depth[index] === lane && start <= at + near && one.end[index] >= at - near;
      choose(hit, one.start.findLastIndex(isNear));
    });
  }
  view.addEventListener('scroll', draw, { passive: true });
  new ResizeObserver(draw).observe(view);
  dark.addEventListener('change', draw);
  $('zoom-in').addEventListener('click', () => zoom(0.5));
  $('zoom-out').addEventListener('click', () => zoom(2));
  $('zoom-all').addEventListener('click', () => move(first, last - first));
  timeline = { draw, show };
  describe();
}

// Keys of the page.

document.addEventListener('keydown', (event) => {
  const typing = event.target.closest?.('input, select, dialog');
  if (event.key === 'Escape' && typing && !event.target.closest('dialog')) { $('list').focus(); return; }
  if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
  const focus = (id) => { go('events'); $(id).focus(); $(id).select(); };
  const act = {
    1: () => go('events'), 2: () => go('summary'), 3: () => go('timeline'), 4: () => go('about'),
    f: () => focus('words'), '/': () => focus('find-text'), n: () => report?.next(1), N: () => report?.next(-1),
    t: () => { if (part === 'events') report?.showTime(); }, '?': () => $('keys').showModal(),
  }[event.key];
  if (!act) return;
  event.preventDefault();
  act();
});
$('keys-button').addEventListener('click', () => $('keys').showModal());

(async () => {
  try {
    const [events, tracks] = await Promise.all([read('events-data'), read('timeline-data')]);
    open(location.hash.slice(1));
    makeOverview(events, tracks);
    if (tracks) makeTimeline(tracks); else $('timeline').replaceChildren(element('p', { textContent: 'The trace has no timeline.' }));
    makeReport(events);
    open(location.hash.slice(1));
    if (part === 'events') $('list').focus({ preventScroll: true });
    document.documentElement.dataset.ready = 'yes';
  } catch (error) {
    $('failure').textContent = `The page cannot read its data: ${error}. It needs a browser of 2023 or later.`;
    $('failure').hidden = false;
    throw error;
  }
})();
})();
