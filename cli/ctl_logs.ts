// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * `batuta ctl logs`.
 *
 * @module
 */

import { ManagementService } from "../proto/gen/omni/management_pb.ts";
import { createClient } from "../rpc/client.ts";
import { type ConnectOptions, openChannel } from "./ctl_connect.ts";
import { untilInterrupted } from "./ctl_signal.ts";
import { usageError } from "./usage.ts";
import { writeOutput } from "./output_write.ts";

/** Options of the command. */
interface LogsOptions extends ConnectOptions {
  readonly follow?: boolean;
  readonly tail?: string;
  readonly raw?: boolean;
}

/** Prints the kernel log of a machine until it ends, or with `follow` until an interrupt. */
export async function runLogs(machineId: string, parsed: object): Promise<void> {
  const options = parsed as LogsOptions;
  const request = { machineId, follow: options.follow ?? false, tailLines: readTail(options.tail) };
  const channel = openChannel(options);
  try {
    const client = createClient(ManagementService, channel);
    const decoder = new TextDecoder();
    await untilInterrupted(async (signal) => {
      for await (const { bytes } of client.machineLogs(request, { signal })) {
        const line = decoder.decode(bytes).trimEnd();
        writeOutput(`${options.raw === true ? line : readableLine(line)}\n`);
      }
    });
  } finally {
    channel.close();
  }
}

/** Zero stands for the whole log. */
function readTail(text: string | undefined): number {
  if (text === undefined) return 0;
  if (!/^[1-9]\d{0,8}$/.test(text)) {
    throw usageError(`--tail must be a number above zero: current value is "${text}"`);
  }
  return Number(text);
}

/** A line for people: when, how bad, what. */
function readableLine(line: string): string {
  try {
    const { msg, "talos-time": time, "talos-level": level, facility } = JSON.parse(line);
    if (typeof msg !== "string") return line;
    const parts = [time, level, facility, msg.trimEnd()];
    return parts.filter((part) => typeof part === "string").join(" ");
  } catch {
    return line;
  }
}
