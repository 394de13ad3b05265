// The engine in workers. A job that is cancelled, or replaced, ends its worker; another one is ready.
/* global WORKER */

const address = URL.createObjectURL(new Blob([WORKER], { type: 'text/javascript' }));

/** Unpacks and compiles the engine that the page contains. */
export async function load() {
  const block = document.getElementById('engine');
  const text = block.textContent;
  block.remove();
  const bytes = Uint8Array.fromBase64 ? Uint8Array.fromBase64(text) : Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  return WebAssembly.compile(await new Response(stream).arrayBuffer());
}

export function worker(module) {
  const made = new Worker(address);
  made.postMessage({ module });
  return made;
}

export class Engine {
  #module;
  #spare;
  #running = null;
  #id = 0;

  constructor(module) {
    this.#module = module;
    this.#spare = worker(module);
  }

  get isRunning() { return this.#running !== null; }

  /** Ends the job that runs. */
  cancel() {
    if (!this.#running) return;
    const { run, reject } = this.#running;
    run.terminate();
    this.#running = null;
    this.#spare ??= worker(this.#module);
    reject(new Cancelled());
  }

  /** Runs a job; another one that runs is cancelled. `on` takes what comes before the result. */
  run(job, { files = [], isShown = false, on = {} } = {}) {
    this.cancel();
    const id = ++this.#id;
    const run = this.#spare ?? worker(this.#module);
    this.#spare = null;
    return new Promise((resolve, reject) => {
      let panic = '';
      this.#running = { run, reject };
      const end = (act, keep) => {
        if (this.#running?.run !== run) return;
        this.#running = null;
        // An engine that failed may have inconsistent memory.
        if (keep) this.#spare = run; else { run.terminate(); this.#spare = worker(this.#module); }
        act();
      };
      run.onmessage = ({ data }) => {
        if (data.failed) panic = data.failed;
        if (data.id !== id) return;
        if (data.piece) on.piece?.(data.piece);
        else if (data.notice !== undefined) on.notice?.(data.notice, data.damage);
        else if (data.progress !== undefined) on.progress?.(data.progress, data.events);
        else if (data.result) end(() => resolve(data), true);
        else if (data.error !== undefined) end(() => reject(new Error(panic ? `tfbc has a bug: ${panic}` : data.error)), !panic);
      };
      run.onerror = (event) => { event.preventDefault(); end(() => reject(new Error(panic ? `tfbc has a bug: ${panic}` : `The engine ended, perhaps because memory ran out: ${event.message}`)), false); };
      run.postMessage({ id, job: JSON.stringify(job), files, isShown });
    });
  }
}

export class Cancelled extends Error {}
