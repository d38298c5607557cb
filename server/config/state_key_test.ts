// SPDX-License-Identifier: AGPL-3.0-or-later

import { deepStrictEqual, ok, strictEqual, throws } from "node:assert/strict";
import { type KeyEnvironment, readStateKeys } from "./state_key.ts";

const KEY = new Uint8Array(32).fill(7);
const OLD = new Uint8Array(32).fill(8);

function environment(
  variables: Readonly<Record<string, string>>,
  files: Readonly<Record<string, string>> = {},
): KeyEnvironment {
  return {
    env: (name) => variables[name],
    readFile(path) {
      const text = files[path];
      if (text === undefined) throw new Error("no such file");
      return text;
    },
  };
}

Deno.test("readStateKeys() reads a variable, a credential and earlier keys", () => {
  const keys = readStateKeys(
    { credential: "key", previous: [{ env: "OLD" }] },
    environment(
      { CREDENTIALS_DIRECTORY: "/run/c", OLD: OLD.toBase64() },
      { "/run/c/key": `${KEY.toBase64()}\n` },
    ),
  );
  deepStrictEqual(keys.current?.reveal(), KEY);
  deepStrictEqual(keys.previous.map((key) => key.reveal()), [OLD]);
  strictEqual(JSON.stringify(keys).includes("CAgI"), false);
});

Deno.test("readStateKeys() has no key where no source is named", () => {
  strictEqual(readStateKeys({ previous: [] }, environment({})).current, undefined);
});

const INVALID: readonly (readonly [string, Parameters<typeof readStateKeys>[0], KeyEnvironment])[] =
  [
    ["an unset variable", { env: "KEY", previous: [] }, environment({})],
    ["a short key", { env: "KEY", previous: [] }, environment({ KEY: "aGVsbG8=" })],
    ["no base64", { env: "KEY", previous: [] }, environment({ KEY: "not-base64!" })],
    ["no credentials directory", { credential: "key", previous: [] }, environment({})],
    [
      "an absent credential",
      { credential: "key", previous: [] },
      environment({ CREDENTIALS_DIRECTORY: "/run/c" }),
    ],
    [
      "a path as credential",
      { credential: "../key", previous: [] },
      environment({ CREDENTIALS_DIRECTORY: "/run/c" }, { "/run/key": KEY.toBase64() }),
    ],
  ];

for (const [what, sources, from] of INVALID) {
  Deno.test(`readStateKeys() refuses ${what} and never shows a value`, () => {
    throws(() => readStateKeys(sources, from), (error: unknown) => {
      ok(error instanceof Error && error.message.includes("state.key."));
      ok(!/aGVsbG8|not-base64/.test(error.message), error.message);
      return true;
    });
  });
}
