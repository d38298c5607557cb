// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Renders the reference of all keys, `docs/config.md`.
 *
 * @module
 */

import { DOCUMENT } from "./document.ts";

const HEAD = `# Configuration

\`batuta serve --config FILE\` reads one YAML document. \`--check-config\` reads it, reports every
violation at once and starts nothing. Unknown keys are refused.

The smallest document:

\`\`\`yaml
machineApiAdvertisedUrl: grpc://batuta.example.org:8090
wireguard:
  advertisedEndpoint: batuta.example.org:50180
state:
  key:
    env: BATUTA_STATE_KEY
\`\`\`

The key of the state is made once, and kept: \`head -c 32 /dev/urandom | base64\`.

This reference is rendered from \`server/config/document.ts\` by \`deno task generate:config-docs\`.

`;

function describeFallback(fallback: string): string {
  if (fallback === "required") return "required";
  return fallback === "none" ? "no default" : `default \`${fallback}\``;
}

/** Breaks an item of a list at the width that the formatter uses; code is never broken. */
function wrapItem(text: string): string {
  const lines: string[] = [];
  let line = "-";
  for (const word of text.match(/(?:`[^`]*`|\S)+/g) ?? []) {
    if (line.length + 1 + word.length > 100) {
      lines.push(line);
      line = `  ${word}`;
    } else line += ` ${word}`;
  }
  return [...lines, line].join("\n");
}

/** Renders the reference as Markdown. */
export function renderConfigDocs(): string {
  const sections = new Map<string, string[]>();
  for (const { path, syntax, fallback, doc } of DOCUMENT.describe("")) {
    const [first = "", ...rest] = path.split(".");
    const name = rest.length === 0 ? "Top level" : `\`${first}\``;
    const lines = sections.get(name) ?? [];
    lines.push(wrapItem(`\`${path}\`: ${syntax}; ${describeFallback(fallback)}. ${doc}`));
    sections.set(name, lines);
  }
  const parts = [...sections].map(([name, lines]) => `## ${name}\n\n${lines.join("\n")}\n`);
  return HEAD + parts.join("\n");
}
