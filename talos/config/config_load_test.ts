// SPDX-License-Identifier: AGPL-3.0-or-later

import assert from "node:assert/strict";
import { encodeConfig, loadConfig } from "./config_load.ts";
import { GOLDEN_NOTE, goldenFiles, goldenFolders, hasGoldenData, readGolden } from "./testing.ts";

/** Examples that leave out a field which is always printed. */
const INCOMPLETE = /^volumeconfig_tpm_encryption_(?:no_options|with_pcr)/;

Deno.test({
  name: `encodeConfig() prints the golden examples of all documents back${GOLDEN_NOTE}`,
  ignore: !hasGoldenData,
  fn() {
    for (const folder of goldenFolders("talos/types")) {
      for (const file of goldenFiles(`talos/types/${folder}/`)) {
        if (file.startsWith("args_") || file.includes("_redacted")) continue;
        const text = readGolden(`talos/types/${folder}/${file}`);
        const printed = encodeConfig(loadConfig(text));
        if (!INCOMPLETE.test(file)) assert.equal(printed, text, file);
        assert.equal(encodeConfig(loadConfig(printed)), printed, file);
      }
    }
  },
});

Deno.test({
  name: `loadConfig() loads the golden complete files${GOLDEN_NOTE}`,
  ignore: !hasGoldenData,
  fn() {
    for (const file of goldenFiles("talos/loader/")) {
      assert.doesNotThrow(() => loadConfig(readGolden(`talos/loader/${file}`)), file);
    }
  },
});

Deno.test("loadConfig() puts the main document first", () => {
  const model = loadConfig("apiVersion: v1alpha1\nkind: HostnameConfig\n---\nmachine: {}\n");
  assert.deepEqual(model.map(({ kind }) => kind), ["v1alpha1", "HostnameConfig"]);
});

const REFUSED: readonly (readonly [name: string, text: string, message: RegExp])[] = [
  ["nothing", "# a comment\n", /^config not found$/],
  ["a document without a kind", "apiVersion: v1\n", /missing kind/],
  ["a document without a version", "kind: HostnameConfig\n", /missing apiVersion/],
  [
    "one document twice",
    "machine: {}\n---\nmachine: {}\n",
    /duplicate document \/v1alpha1\/ is not allowed \(line 3\)/,
  ],
  [
    "two documents for one link",
    "apiVersion: v1alpha1\nkind: LinkConfig\nname: a\n---\napiVersion: v1alpha1\nkind: DummyLinkConfig\nname: a\n",
    /^conflicting documents: LinkConfig\/a and DummyLinkConfig\/a$/,
  ],
  ["an anchor in itself", "machine: &a {network: *a}\n", /contains itself/],
  ["a key twice", "machine: {type: a, type: b}\n", /L1.C20: Map keys must be unique/],
  ["a control character", "machine: \0\n", /L1.C10: control characters are not allowed/],
];

for (const [name, text, message] of REFUSED) {
  Deno.test(`loadConfig() refuses ${name}`, () => {
    assert.throws(() => loadConfig(text), { code: "invalidArgument", message });
  });
}
