// SPDX-License-Identifier: AGPL-3.0-or-later

/** `batuta lab`: a server with emulated machines, for a first look. @module */

import { Command, InvalidArgumentError, Option } from "commander";
import type { LabOptions } from "./lab_run.ts";

/** Runs the lab until Ctrl-C. Exits with 1 when `--once` is given and the cluster does not run in time. */
export function labCommand(): Command {
  return new Command("lab")
    .description("run a server with emulated machines and a cluster of one of them")
    .option("--machines <count>", "how many machines", wholeNumber, 3)
    .option("--no-cluster", "start without the cluster of docs/examples/cluster.yaml")
    .option("--api-bind <host:port>", "where the API listens (default: 127.0.0.1:8080)", hostPort)
    .option(
      "--state <kind>",
      "memory, sqlite (both thrown away), or a directory that keeps it",
      "memory",
    )
    .option("--once", "end as soon as the cluster runs, or all machines have joined")
    .option("--timeout <seconds>", "how long that may take with --once", wholeNumber, 120)
    .addOption(
      new Option("--log-level <level>", "what the server writes to standard error")
        .choices(["debug", "info", "warn", "error"]).default("error"),
    )
    .action(async (options: LabOptions) => {
      const { runLab } = await import("./lab_run.ts");
      Deno.exitCode = await runLab(options);
      // Whatever still holds the event loop must not keep a lab alive that was stopped.
      Deno.exit();
    });
}

function hostPort(text: string): string {
  const port = /^(?:\[[0-9a-fA-F:.]+\]|[^:\s/[\]]+):(\d{1,5})$/.exec(text)?.[1];
  if (port !== undefined && Number(port) <= 65_535) return text;
  throw new InvalidArgumentError('It must be "<host>:<port>", with IPv6 addresses in brackets.');
}

function wholeNumber(text: string): number {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= 1) return value;
  throw new InvalidArgumentError("It must be a whole number of at least 1.");
}
