// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Shows the lab: a table that is redrawn in place on a terminal, plain lines elsewhere.
 *
 * @module
 */

import { describeChanges, type LabStatus, renderTable } from "./lab_status.ts";

/** Where a lab shows itself. */
export interface Screen {
  show(status: LabStatus): void;
  /** Prints a line, or several, that stay. */
  print(text: string): void;
}

/** What a screen writes to. */
export interface ScreenOutput {
  readonly isTerminal: boolean;
  /** In characters; asked for at each drawing, as windows change. */
  columns(): number;
  write(text: string): void;
}

/** Standard output. */
export function standardOutput(): ScreenOutput {
  const encoder = new TextEncoder();
  return {
    isTerminal: Deno.stdout.isTerminal(),
    columns: () => Deno.consoleSize().columns,
    write: (text) => {
      const bytes = encoder.encode(text);
      for (let at = 0; at < bytes.length;) at += Deno.stdout.writeSync(bytes.subarray(at));
    },
  };
}

/** Creates a screen on an output. */
export function createScreen(output: ScreenOutput): Screen {
  return output.isTerminal ? terminalScreen(output) : plainScreen(output);
}

function plainScreen({ write }: ScreenOutput): Screen {
  let shown: LabStatus = { machines: [], clusters: [] };
  return {
    show: (status) => {
      for (const line of describeChanges(shown, status)) write(`${line}\n`);
      shown = status;
    },
    print: (text) => write(`${text}\n`),
  };
}

/** Some terminals do not tell how wide they are. */
const LEAST_COLUMNS = 20;

function terminalScreen({ columns, write }: ScreenOutput): Screen {
  let table: readonly string[] = [];
  let drawn = 0;
  const draw = (above: string): void => {
    // Back to the first line of the table, and everything below is blank.
    const back = drawn === 0 ? "" : `\x1b[${drawn}A\x1b[J`;
    const told = columns();
    const width = told < LEAST_COLUMNS ? Infinity : told - 1;
    // A line that wraps would throw the count of lines off.
    write(`${back}${above}${table.map((line) => `${line.slice(0, width)}\n`).join("")}`);
    drawn = table.length;
  };
  return {
    show: (status) => {
      const lines = ["", ...renderTable(status), ""];
      if (lines.join("\n") === table.join("\n")) return;
      table = lines;
      draw("");
    },
    print: (text) => draw(`${text}\n`),
  };
}
