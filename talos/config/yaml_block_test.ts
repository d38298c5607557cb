// SPDX-License-Identifier: AGPL-3.0-or-later

import assert from "node:assert/strict";
import { CodedError } from "../../base/errors.ts";
import { GOLDEN_NOTE, goldenFiles, goldenFolders, hasGoldenData, readGolden } from "./testing.ts";
import { parseBlockYaml } from "./yaml_block.ts";
import { createPositions, parseFullYaml } from "./yaml_parse.ts";

/** What the full parser makes of a text. */
function parseFull(text: string): unknown {
  try {
    return parseFullYaml(text, createPositions(text));
  } catch (error) {
    if (error instanceof CodedError) return error.message;
    throw error;
  }
}

const UNDERSTOOD: readonly string[] = [
  "a: 1\nb:\n  c: x y\n  d: 'it''s'\n",
  "a:\n- x\n- b: 1\n  c: 2\n-\n  d: 3\n",
  "a: |\n  one\n\n    two\nb: |-\n  x\n",
  "# comment\n---\na: []\n---\nb: {}\n",
  'a:\n\nb: "q"\n',
  "a: -1\n'b c': http://x:80/y\n",
];

for (const text of UNDERSTOOD) {
  Deno.test(`parseBlockYaml() reads ${JSON.stringify(text)} as the full parser does`, () => {
    const roots = parseBlockYaml(text);
    assert.ok(roots !== undefined);
    assert.deepEqual(roots, parseFull(text));
  });
}

const LEFT_ALONE: readonly string[] = [
  "a: &x 1\n",
  "a: [1]\n",
  "a: x\n  y\n",
  "a: b: c\n",
  "a: 1\na: 2\n",
  'a: "\\n"\n',
  "a: 1 # comment\n",
  "\ta: 1\n",
  "- - a\n",
  "a: >\n  x\n",
  "x\n",
  "? a\n",
  "a: 1\n...\n",
];

for (const text of LEFT_ALONE) {
  Deno.test(`parseBlockYaml() leaves ${JSON.stringify(text)} to the full parser`, () => {
    assert.equal(parseBlockYaml(text), undefined);
  });
}

Deno.test({
  name: `parseBlockYaml() agrees with the full parser about damaged golden files${GOLDEN_NOTE}`,
  ignore: !hasGoldenData,
  fn() {
    const seed = Number(Deno.env.get("CONFIG_SEED") ?? Math.floor(Math.random() * 2 ** 31));
    const random = randomNumbers(seed);
    const texts = goldenFolders("talos/types").flatMap((folder) =>
      goldenFiles(`talos/types/${folder}/`).map((file) =>
        readGolden(`talos/types/${folder}/${file}`)
      )
    );
    for (let round = 0; round < 3000; round++) {
      const text = damage(texts[Math.floor(random() * texts.length)] ?? "", random);
      const roots = parseBlockYaml(text);
      if (roots === undefined) continue;
      assert.deepEqual(roots, parseFull(text), `CONFIG_SEED=${seed}: ${JSON.stringify(text)}`);
    }
  },
});

const PIECES = [
  " ",
  "\n",
  "- ",
  ": ",
  ":",
  " #",
  "'",
  '"',
  "|",
  "[]",
  "&a ",
  "*a",
  "---\n",
  "%",
  "x",
];

function damage(text: string, random: () => number): string {
  let damaged = text;
  for (let i = 0; i < 2; i++) {
    const at = Math.floor(random() * damaged.length);
    const piece = random() < 0.6 ? PIECES[Math.floor(random() * PIECES.length)] ?? "" : "";
    damaged = damaged.slice(0, at) + piece + damaged.slice(piece === "" ? at + 1 : at);
  }
  return damaged;
}

function randomNumbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
