// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Starts workers in every form the program has: from source, and as one packed file.
 *
 * A packed program is a single module, so its workers are that same module started again: `main.ts`
 * then picks what to run by the worker's name.
 *
 * @module
 */

/** What a worker module posts once it listens for messages. */
export const WORKER_READY = "ready";

/**
 * Starts a worker and waits until it listens.
 *
 * @param name The name under which `main.ts` knows the worker.
 * @param url The worker's own module, used when the program runs from source.
 */
export function startWorker(name: string, url: URL): Promise<Worker> {
  const packed = Deno.mainModule.startsWith("file:///proc/self/fd/");
  const worker = new Worker(packed ? Deno.mainModule : url.href, { type: "module", name });
  return new Promise((resolve, reject) => {
    worker.onerror = (event) => {
      event.preventDefault();
      reject(new Error(`Cannot start worker "${name}": ${event.message}`));
    };
    worker.onmessage = ({ data }) => {
      if (data !== WORKER_READY) return;
      worker.onmessage = null;
      worker.onerror = null;
      resolve(worker);
    };
  });
}
