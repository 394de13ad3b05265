// Writes the page as one file: scripts, style and engine are in it, and its security policy names them by digest.
//
//     node bundle.mjs ENGINE OUTPUT      ENGINE is the folder that wasm-bindgen wrote
//     node bundle.mjs --charts           only writes runtime/view/page/uplot.js anew
import { build } from 'esbuild';
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';

const [engine, output] = process.argv.slice(2);
const here = dirname(fileURLToPath(import.meta.url));
const read = (path) => readFile(resolve(here, path), 'utf8').then((text) => text.replaceAll('\r\n', '\n'));

/** The library of the charts as `tfbc view` has it, for builds without npm: its licence and its code. */
async function charts() {
  const { version } = JSON.parse(await read('node_modules/uplot/package.json'));
  const files = ['LICENSE', 'dist/uPlot.iife.min.js'].map((name) => read(`node_modules/uplot/${name}`));
  const [licence, code] = await Promise.all(files);
  // The first line of the code is a comment with the version.
  const head = `/*! uPlot ${version}, github.com/leeoniya/uPlot\n\n${licence.trim()}\n*/\n`;
  return `${head}${code.slice(code.indexOf('\n') + 1).trim()}\n`;
}
const CHARTS = '../runtime/view/page/uplot.js';
if (engine === '--charts') {
  await writeFile(resolve(here, CHARTS), await charts());
  process.exit();
}
if (await read(CHARTS) !== await charts()) {
  console.error('runtime/view/page/uplot.js is not uPlot of package-lock.json: `node web/bundle.mjs --charts` writes it');
  process.exit(1);
}

async function bundle(entry, define) {
  const { outputFiles: [{ text }] } = await build({
    entryPoints: [resolve(here, entry)], bundle: true, minify: true, write: false, format: 'iife', target: 'es2022', define,
    alias: { engine: resolve(engine, 'engine.js') }, loader: { '.xml': 'text' }, legalComments: 'none', charset: 'utf8',
    // Without an address, the code that calls the engine would load it from its own folder; the page passes it.
    logOverride: { 'empty-import-meta': 'silent' },
  });
  return text;
}

/** Text of a package's licence: the MIT licence, if there are several. */
async function licenceText(folder) {
  const files = (await readdir(folder)).filter((name) => /^licen[cs]e/i.test(name)).sort();
  const file = files.find((name) => /mit/i.test(name)) ?? files[0];
  return file ? (await readFile(resolve(folder, file), 'utf8')).trim() : '';
}

/** Packages of Rust that the engine contains, with their folders. */
async function rustPackages() {
  const asked = ['metadata', '--locked', '--format-version', '1', '--filter-platform', 'wasm32-unknown-unknown'];
  const { stdout } = await promisify(execFile)('cargo', asked, { cwd: resolve(here, '..'), maxBuffer: 1 << 28 });
  const { packages, resolve: { nodes } } = JSON.parse(stdout);
  const byId = new Map(packages.map((one) => [one.id, one]));
  const depends = new Map(nodes.map(({ id, deps }) => [id, deps]));
  const found = new Set();
  const visit = (id) => {
    if (found.has(id)) return;
    found.add(id);
    for (const { pkg, dep_kinds: kinds } of depends.get(id)) if (kinds.some(({ kind }) => kind === null)) visit(pkg);
  };
  visit(packages.find(({ name }) => name === 'tfbc-wasm').id);
  return [...found].map((id) => byId.get(id)).filter(({ source }) => source)
    .map(({ name, version, license, manifest_path: manifest }) => ({ name, version, license, folder: dirname(manifest) }));
}

/** Licences of the packages that are in the page; each text once. */
async function licences() {
  const lock = JSON.parse(await read('package-lock.json'));
  const npm = Object.entries(lock.packages)
    // esbuild only builds the page.
    .filter(([path]) => path && !/node_modules\/@?esbuild/.test(path))
    .map(([path, { version, license }]) => ({ name: path.replace(/^.*?node_modules\//, ''), version, license, folder: resolve(here, path) }));
  const texts = new Map();
  for (const { name, version, license, folder } of [...npm, ...await rustPackages()]) {
    const text = await licenceText(folder);
    texts.set(text, [...(texts.get(text) ?? []), `${name} ${version}: ${license}`]);
  }
  return ['tfbc: MIT OR Apache-2.0', ...[...texts].map(([text, names]) => `${names.join('\n')}\n\n${text}`)].join('\n\n\n');
}

const escaped = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
const digest = (text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

const worker = await bundle('src/worker.js', {});
const script = (await bundle('src/main.js', { WORKER: JSON.stringify(worker) })).replaceAll('</script', '<\\/script');
const style = await read('src/style.css');
// The frame with table, summary and timeline inherits the policy of the page.
const viewFiles = ['page.css', 'uplot.js', 'page.js'].map((name) => read(`../runtime/view/page/${name}`));
const [viewStyle, ...viewScripts] = await Promise.all(viewFiles);
const viewScript = viewScripts.join('');
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
