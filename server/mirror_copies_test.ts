// SPDX-License-Identifier: AGPL-3.0-or-later

import { create, toBinary } from "@bufbuild/protobuf";
import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { openState, type StateCore } from "../cosi/state/core.ts";
import { openMemoryStore } from "../cosi/store/memory.ts";
import { LABEL_MIRROR_MACHINE } from "../resources/labels.ts";
import { TalosHostnameStatus } from "../resources/mirror/hostname_status.ts";
import { TalosLinkStatus } from "../resources/mirror/link_status.ts";
import { TalosVersion } from "../resources/mirror/version.ts";
import type { MirroredResource } from "../talos/mirror.ts";
import { createMirrorCopies } from "./mirror_copies.ts";
import { listResources, peekResource } from "./typed_state.ts";

const NETWORK = { namespace: "network", type: TalosHostnameStatus.type };

async function withState(work: (state: StateCore) => Promise<void>): Promise<void> {
  const state = await openState({ store: openMemoryStore() });
  try {
    await work(state);
  } finally {
    await state.close();
  }
}

function hostname(id: string, name: string): MirroredResource {
  const { schema } = TalosHostnameStatus;
  return {
    ...NETWORK,
    id,
    labels: {},
    protoSpec: toBinary(schema, create(schema, { hostname: name })),
    yamlSpec: `hostname: ${name}\n`,
  };
}

function askNobody(): Promise<never> {
  return Promise.reject(new Error("Nobody asks for the version"));
}

Deno.test("copies follow a machine: new, changed, gone, and gone while nobody looked", async () => {
  await withState(async (state) => {
    const copies = createMirrorCopies(state);
    const names = () =>
      listResources(state, TalosHostnameStatus).map(({ metadata, spec }) => [
        metadata.id,
        spec.hostname,
      ]);
    await copies.apply("m1", [
      { kind: "snapshot", of: NETWORK, resources: [hostname("a", "x"), hostname("b", "y")] },
      { kind: "put", resource: hostname("b", "z") },
    ], askNobody);
    await copies.apply("m2", [{ kind: "put", resource: hostname("a", "other") }], askNobody);
    deepStrictEqual(names(), [["m1/a", "x"], ["m1/b", "z"], ["m2/a", "other"]]);
    const copy = peekResource(state, TalosHostnameStatus, "m1/a");
    deepStrictEqual(copy?.metadata.labels, { [LABEL_MIRROR_MACHINE]: "m1" });

    await copies.apply("m1", [{ kind: "gone", of: NETWORK, id: "a" }], askNobody);
    await copies.apply("m1", [
      { kind: "snapshot", of: NETWORK, resources: [hostname("c", "new")] },
    ], askNobody);
    deepStrictEqual(names(), [["m1/c", "new"], ["m2/a", "other"]]);
    await copies.removeMachine("m1");
    deepStrictEqual(names(), [["m2/a", "other"]]);
  });
});

Deno.test("a copy that is the same again is not written", async () => {
  await withState(async (state) => {
    const copies = createMirrorCopies(state);
    const event = { kind: "put", resource: hostname("a", "x") } as const;
    await copies.apply("m1", [event], askNobody);
    await copies.apply("m1", [event], askNobody);
    strictEqual(peekResource(state, TalosHostnameStatus, "m1/a")?.metadata.version, 1);
  });
});

Deno.test("keys of tunnels are not copied, in neither form", async () => {
  await withState(async (state) => {
    const { schema } = TalosLinkStatus;
    const protoSpec = toBinary(
      schema,
      create(schema, {
        index: 7,
        wireguard: {
          privateKey: "PRIVATE",
          publicKey: "public",
          peers: [{ publicKey: "peer", presharedKey: "PRESHARED" }],
        },
      }),
    );
    const yamlSpec = "wireguard:\n  privateKey: PRIVATE\n";
    const { type } = TalosLinkStatus;
    await createMirrorCopies(state).apply("m1", [{
      kind: "put",
      resource: { namespace: "network", type, id: "wg0", labels: {}, protoSpec, yamlSpec },
    }], askNobody);
    const raw = state.snapshot({ namespace: "talos-mirror", type })[0];
    const bytes = new TextDecoder().decode(raw?.protoSpec) + raw?.yamlSpec;
    strictEqual(/PRIVATE|PRESHARED/.test(bytes), false);
    const copy = peekResource(state, TalosLinkStatus, "m1/wg0");
    deepStrictEqual([copy?.spec.index, copy?.spec.wireguard?.publicKey], [7, "public"]);
  });
});

Deno.test("a machine without a resource of its version is asked for it", async () => {
  await withState(async (state) => {
    await createMirrorCopies(state).apply(
      "m1",
      [{ kind: "absent", of: { namespace: "runtime", type: TalosVersion.type } }],
      () => Promise.resolve({ tag: "v1.9.5", arch: "amd64", platform: "metal" }),
    );
    strictEqual(peekResource(state, TalosVersion, "m1/version")?.spec.version, "v1.9.5");
  });
});
