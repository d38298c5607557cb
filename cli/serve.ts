// SPDX-License-Identifier: AGPL-3.0-or-later

/** `batuta serve`: the server. @module */

import { Command } from "commander";
import { missingEnvironment, SERVER_ENVIRONMENT, spareThreads } from "../base/environment.ts";
import { readConfig } from "./config_file.ts";
import { keepPermissions, permissionsToServe, permissionsWhileServing } from "./permissions.ts";
import { restartWith } from "./restart.ts";

interface ServeOptions {
  readonly config: string;
  readonly checkConfig?: true;
}

/** A stop that takes longer than this is cut short, in ms. */
const STOP_WITHIN_MS = 5_000;

/** Runs the server until SIGTERM or SIGINT. Exits with 2 for a wrong configuration, 1 for a fault. */
export function serveCommand(): Command {
  return new Command("serve")
    .description("run the server")
    .requiredOption("--config <file>", "configuration document")
    .option("--check-config", "check the configuration document and exit")
    .action(async (options: ServeOptions) => {
      Deno.exitCode = await serve(options);
      // Whatever still holds the event loop must not keep a stopped server alive.
      if (options.checkConfig === undefined) Deno.exit();
    });
}

async function serve({ config: path, checkConfig }: ServeOptions): Promise<number> {
  if (!checkConfig) restartWith(SERVER_ENVIRONMENT);
  const config = await readConfig(path);
  keepPermissions(permissionsToServe(config));
  if (checkConfig) return 0;
  const { createLogger } = await import("../base/log.ts");
  const log = createLogger({ level: config.log.level });
  const missing = missingEnvironment();
  if (missing !== "") {
    log.warn("environment lacks what lets peers in while others are busy and keeps memory small", {
      reason: `the server was started without ${missing}`,
    });
  }
  spareThreads();
  const { startServer } = await import("../server/serve.ts");
  const stop = new AbortController();
  const stopping = stopSignal(stop);
  try {
    const server = await startServer(config, { log, signal: stop.signal });
    keepPermissions(permissionsWhileServing(config));
    await Promise.race([stopping, server.failed]);
    log.info("server stopping");
    const timer = setTimeout(() => Deno.exit(0), STOP_WITHIN_MS);
    await server.close();
    clearTimeout(timer);
    log.info("server stopped");
    return 0;
  } catch (error) {
    if (stop.signal.aborted) return 0;
    log.error("server failed", { error });
    return 1;
  }
}

/** Resolves, and aborts what is still starting, when the process is asked to end. */
function stopSignal(stop: AbortController): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ["SIGTERM", "SIGINT"] as const) {
      Deno.addSignalListener(signal, () => {
        stop.abort();
        resolve();
      });
    }
  });
}
