// Writes the page as one file: scripts, style and engine are in it, and its security policy names them by digest.
//
//     node bundle.mjs ENGINE OUTPUT      ENGINE is the folder that wasm-bindgen wrote
import { build } from 'esbuild';
import { createHash } from 'node:crypto';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { gzipSync } from 'node:zlib';

const [engine, output] = process.argv.slice(2);
const here = import.meta.dirname;
const read = (path) => readFile(resolve(here, path), 'utf8').then((text) => text.replaceAll('\r\n', '\n'));

async function bundle(entry, define) {
  const { outputFiles: [{ text }] } = await build({
    entryPoints: [resolve(here, entry)], bundle: true, minify: true, write: false, format: 'iife', target: 'es2022', define,
    alias: { engine: resolve(engine, 'engine.js') }, loader: { '.xml': 'text' }, legalComments: 'none', charset: 'utf8',
    // The glue of the engine would look for it beside itself, if the page did not pass it.
    logOverride: { 'empty-import-meta': 'silent' },
  });
  return text;
}

/** Licences of the packages that are in the page. */
async function licences() {
  const lock = JSON.parse(await read('package-lock.json'));
  const parts = [];
  for (const [path, { version, license, dev }] of Object.entries(lock.packages)) {
    // These only build the page.
    if (!path || !dev || /node_modules\/(@?esbuild)/.test(path)) continue;
    const folder = resolve(here, path);
    const file = (await readdir(folder)).find((name) => /^licen[cs]e/i.test(name));
    parts.push(`${path.replace(/^.*node_modules\//, '')} ${version}: ${license}\n\n${file ? (await readFile(resolve(folder, file), 'utf8')).trim() : ''}\n`);
  }
  const rust = 'tfbc: MIT OR Apache-2.0. Its Rust packages: `cargo tree -p tfbc-wasm --format "{p} {l}"`.\n';
  return `${rust}\n${parts.join('\n')}`;
}

const escaped = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
const digest = (text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

const worker = await bundle('src/worker.js', {});
const script = (await bundle('src/main.js', { WORKER: JSON.stringify(worker) })).replaceAll('</script', '<\\/script');
const style = await read('src/style.css');
// The frame with table, summary and timeline inherits the policy of the page.
const [viewScript, viewStyle] = await Promise.all(['js', 'css'].map((kind) => read(`../runtime/view/page/page.${kind}`)));
const policy = [
  "default-src 'none'",
  `script-src ${digest(script)} ${digest(viewScript)} 'wasm-unsafe-eval'`,
  `style-src ${digest(style)} ${digest(viewStyle)}`,
  'worker-src blob:', 'img-src data:', "base-uri 'none'", "form-action 'none'",
].join('; ');
const wasm = await readFile(resolve(engine, 'engine_bg.wasm'));
const packed = gzipSync(wasm, { level: 9 });
const manifest = await read('../Cargo.toml');
const values = {
  policy, style, script, engine: packed.toString('base64'), licences: escaped(await licences()),
  version: /\nversion = "([^"]+)"/.exec(manifest)[1],
};
const page = (await read('src/index.html')).replaceAll(/\{\{(\w+)\}\}/g, (_, name) => values[name]);
await writeFile(output, page);
const kb = (bytes) => `${Math.round(bytes / 1000)} KB`;
console.log(`${output}: ${kb(Buffer.byteLength(page))}; engine ${kb(wasm.length)}, packed ${kb(packed.length)}; script ${kb(script.length)}`);
