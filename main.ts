// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The one entry point: picks the subcommand, or the worker, and imports only that.
 *
 * @module
 */

// A packed program starts its workers from this same module, told apart by their names.
const WORKERS: Readonly<Record<string, () => Promise<unknown>>> = {
  tunnel: () => import("./link/tunnel_worker.ts"),
  sqlite: () => import("./cosi/store/sqlite_worker.ts"),
  lab: () => import("./lab/fleet_worker.ts"),
};

const worker = "WorkerGlobalScope" in globalThis ? WORKERS[globalThis.name] : undefined;
if (worker !== undefined) await worker();
else if (import.meta.main) await (await import("./cli/program.ts")).run(Deno.args);
