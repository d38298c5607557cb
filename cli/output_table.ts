// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Tables for people.
 *
 * @module
 */

/** Writes rows under a header; later batches keep the widths of earlier ones. */
export interface Table {
  /** The text of some rows, the header before the first ones. */
  render(rows: readonly (readonly string[])[]): string;
}

/** Columns are cut here, so that one long value does not push the others off the screen. */
const MAX_WIDTH = 60;

// Zero-width marks and wide characters matter only to alignment; names of resources have neither.
function cell(text: string): string {
  const line = text.replace(/\s+/g, " ");
  return line.length > MAX_WIDTH ? `${line.slice(0, MAX_WIDTH - 1)}…` : line;
}

/** Creates a table. */
export function createTable(
  columns: readonly string[],
  { bold }: { readonly bold: boolean },
): Table {
  const widths = columns.map((name) => name.length);
  let headed = false;
  const line = (cells: readonly string[]): string =>
    cells.map((text, index) =>
      index === cells.length - 1 ? text : text.padEnd((widths[index] ?? 0) + 3)
    ).join("").trimEnd();
  return {
    render(rows) {
      // The last column is never cut: nothing stands behind it.
      const cells = rows.map((row) =>
        row.map((text, index) =>
          index === columns.length - 1 ? text.replace(/\s+/g, " ") : cell(text)
        )
      );
      for (const row of cells) {
        for (const [index, text] of row.entries()) {
          widths[index] = Math.max(widths[index] ?? 0, text.length);
        }
      }
      const lines = cells.map(line);
      if (!headed) {
        headed = true;
        const head = line(columns.map((name) => name.toUpperCase()));
        lines.unshift(bold ? `\x1b[1m${head}\x1b[0m` : head);
      }
      return lines.map((text) => `${text}\n`).join("");
    },
  };
}
