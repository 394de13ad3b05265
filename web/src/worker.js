// A worker with the engine: it runs one job, or serves the editor. It is ended to cancel a job.
import { initSync, LanguageServer, run, start } from 'engine';

/** Bytes of text that the page shows. A report that is saved has no limit. */
const MAX_SHOWN = 2 << 20;
/** Notices that the page lists. */
const MAX_NOTICES = 200;

const reader = new FileReaderSync();
let files = [];
let job = null;
let told = 0;
let memory = null;

globalThis.tfbcHost = {
  count: () => files.length,
  size: (file) => files[file].size,
  read(file, offset, into) {
    try {
      const bytes = new Uint8Array(reader.readAsArrayBuffer(files[file].slice(offset, offset + into.length)));
      into.set(bytes);
      return bytes.length;
    } catch {
      return -1;
    }
  },
  piece(bytes) {
    job.size += bytes.length;
    if (job.isShown && job.sent >= MAX_SHOWN) return;
    job.sent += bytes.length;
    const copy = bytes.slice();
    postMessage({ id: job.id, piece: copy.buffer }, [copy.buffer]);
  },
  progress(offset, events) {
    const now = performance.now();
    if (now - told < 100) return;
    told = now;
    postMessage({ id: job.id, progress: offset, events });
  },
  notice(damage, message) {
    job.notices += 1;
    if (job.notices <= MAX_NOTICES) postMessage({ id: job.id, damage, notice: message });
  },
  failed(text) {
    postMessage({ id: job?.id, failed: text });
  },
};

let server = null;
let checking = 0;

function serve(message) {
  server ??= new LanguageServer();
  for (const text of server.receive(message)) postMessage({ answer: text });
  clearTimeout(checking);
  checking = setTimeout(() => { for (const text of server.check()) postMessage({ answer: text }); }, 120);
}

onmessage = ({ data }) => {
  if (data.module) {
    ({ memory } = initSync({ module: data.module }));
    start();
  } else if (data.message) {
    serve(data.message);
  } else {
    files = data.files;
    job = { id: data.id, isShown: data.isShown, size: 0, sent: 0, notices: 0 };
    try {
      const result = JSON.parse(run(data.job));
      postMessage({ id: data.id, result, size: job.size, sent: job.sent, notices: job.notices, memory: memory.buffer.byteLength });
    } catch (error) {
      // Out of memory: the engine cannot continue.
      if (error instanceof WebAssembly.RuntimeError) throw error;
      postMessage({ id: data.id, error: error.message ?? String(error) });
    }
  }
};
