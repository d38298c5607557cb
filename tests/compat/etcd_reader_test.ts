// SPDX-License-Identifier: AGPL-3.0-or-later

// What we write to etcd, read by a program with the store marshalers of the public COSI runtime.

import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { changed, draft, KIND, specText } from "../../cosi/state/conformance.ts";
import { openState } from "../../cosi/state/core.ts";
import { openEtcdStore } from "../../cosi/store/etcd.ts";
import { startEtcd } from "../../cosi/store/etcd_child.ts";
import { buildGo, hasProgram } from "./lab_server.ts";

const hasEtcd = hasProgram("etcd", "--version");
const missing = !hasProgram("go", "version")
  ? " (skipped: go is not installed)"
  : hasEtcd
  ? ""
  : " (skipped: etcd is not installed)";

Deno.test({
  name: `the public COSI runtime reads our records in etcd${missing}`,
  ignore: missing !== "",
  async fn() {
    const directory = await Deno.makeTempDir();
    const etcd = await startEtcd({ dataDirectory: `${directory}/etcd` });
    try {
      const key = crypto.getRandomValues(new Uint8Array(32));
      const state = await openState({
        store: await openEtcdStore({
          endpoints: [etcd.endpoint],
          keys: { current: key },
          identity: "test",
          onLost: () => {},
        }),
      });
      await state.create(draft("small", "a"));
      await state.create(draft("a/b c'!é", "escaped", { labels: { color: "red", empty: "" } }));
      // Long enough to be compressed.
      await state.create(draft("large", "text ".repeat(5000), { finalizers: ["f"] }));
      await state.create(draft("gone"));
      await state.destroy({ ...KIND, id: "gone" });
      const owned = await state.create(draft("owned"), { owner: "test.Controller" });
      await state.update(changed(owned), { owner: "test.Controller" });
      await state.teardown({ ...KIND, id: "large" });
      const stored = await state.list(KIND);
      await state.close();
      await buildGo("etcd_reader", `${directory}/reader`);
      const { code, stdout, stderr } = await new Deno.Command(`${directory}/reader`, {
        args: ["-endpoint", etcd.endpoint, "-key", key.toBase64()],
      }).output();
      strictEqual(code, 0, new TextDecoder().decode(stderr));
      const lines = new TextDecoder().decode(stdout).trim().split("\n");
      const read = lines.map((line) => JSON.parse(line));
      const byId = (a: { id: string }, b: { id: string }): number => a.id < b.id ? -1 : 1;
      const expected = stored.map((resource) => {
        const { id, version, owner, phase, finalizers, labels } = resource.metadata;
        return {
          id,
          version: String(version),
          owner,
          phase,
          finalizers: finalizers.length === 0 ? null : [...finalizers],
          labels: Object.keys(labels).length === 0 ? null : { ...labels },
          spec: specText(resource),
        };
      });
      deepStrictEqual(read.sort(byId), expected.sort(byId));
      strictEqual(read.length, 4);
    } finally {
      await etcd.close();
      await Deno.remove(directory, { recursive: true });
    }
  },
});
