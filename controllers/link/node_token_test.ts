// SPDX-License-Identifier: AGPL-3.0-or-later

import { deepStrictEqual, notStrictEqual, strictEqual } from "node:assert/strict";
import { fakeResource, startHarness } from "../../cosi/testing.ts";
import { NethelpersLinkType } from "../../proto/gen/talos/resource/enums_pb.ts";
import {
  ANNOTATION_FORCE_VALID_NODE_UNIQUE_TOKEN,
  ANNOTATION_NODE_TOKEN_KEY,
  ANNOTATION_RECLAIMED_WITHOUT_NODE_TOKEN,
  LABEL_MIRROR_MACHINE,
} from "../../resources/labels.ts";
import { NodeUniqueTokenStatusSpec_State as State } from "../../proto/gen/omni/specs_pb.ts";
import { Link } from "../../resources/link/link.ts";
import { NodeUniqueToken } from "../../resources/link/node_unique_token.ts";
import { NodeUniqueTokenStatus } from "../../resources/link/node_unique_token_status.ts";
import { Machine } from "../../resources/machine/machine.ts";
import { TalosLinkStatus } from "../../resources/mirror/link_status.ts";
import { TalosVersion } from "../../resources/mirror/version.ts";
import { fingerprintOf, nodeTokenController, planNodeToken } from "./node_token.ts";
import { nodeTokenStatusController, planNodeTokenStatus } from "./node_token_status.ts";

const ID = "1d4f0c6e-0000-4000-8000-000000000001";
const COPY = { labels: { [LABEL_MIRROR_MACHINE]: ID } };
const MACHINE = { managementAddress: "fdae::2", connected: true };

function ether(mac: string, kind = "") {
  return fakeResource(TalosLinkStatus, `${ID}/${mac}`, {
    type: NethelpersLinkType.LINK_ETHER,
    kind,
    hardwareAddr: Uint8Array.fromHex(mac),
  });
}

Deno.test("fingerprintOf() depends on the physical links alone, in any order", () => {
  const [a, b] = [ether("525400000001"), ether("525400000002")];
  const fingerprint = fingerprintOf([a, b]);
  strictEqual(fingerprintOf([b, a, ether("525400000003", "bridge")]), fingerprint);
  notStrictEqual(fingerprintOf([a]), fingerprint);
});

Deno.test("planNodeToken() gives no token to a machine that cannot keep one", () => {
  const facts = {
    link: fakeResource(Link, ID, { nodePublicKey: "k" }),
    current: undefined,
    version: fakeResource(TalosVersion, `${ID}/version`, { version: "v1.5.5" }),
    links: [],
  };
  strictEqual(planNodeToken(fakeResource(Machine, ID, MACHINE), facts).kind, "destroy");
  const unknown = planNodeToken(fakeResource(Machine, ID, MACHINE), {
    ...facts,
    version: undefined,
  });
  strictEqual(unknown.kind, "wait");
});

Deno.test("planNodeTokenStatus() calls a token persistent that came back after a reboot", () => {
  const link = fakeResource(Link, ID, { nodePublicKey: "k" }, {
    annotations: { [ANNOTATION_FORCE_VALID_NODE_UNIQUE_TOKEN]: "" },
  });
  const plan = planNodeTokenStatus(fakeResource(NodeUniqueToken, ID, {}), {
    link,
    status: undefined,
    target: undefined,
  });
  deepStrictEqual(plan, { kind: "write", spec: { state: State.PERSISTENT } });
});

Deno.test("a machine gets one token, written once, and a new one when it lost the old", async () => {
  const written: string[] = [];
  const assigned: string[] = [];
  let count = 0;
  await using harness = startHarness(
    nodeTokenController({
      newToken: () => `token-${++count}`,
      onTokenAssigned: (kind) => assigned.push(kind),
    }),
    nodeTokenStatusController({
      talos: {
        metaWrite: (_target, key, value) => {
          written.push(`${key} ${new TextDecoder().decode(value)}`);
          return Promise.resolve();
        },
      },
    }),
  );
  await harness.create(Link, ID, { nodePublicKey: "boot-1" });
  await harness.create(Machine, ID, MACHINE);
  await harness.create(TalosVersion, `${ID}/version`, { version: "v1.12.0" }, COPY);
  await harness.eventually(
    NodeUniqueTokenStatus,
    ID,
    ({ spec }) => strictEqual(spec.state, State.EPHEMERAL),
  );
  await harness.restart();
  await harness.settled();
  strictEqual(written.length, 1);
  const first = await harness.find(NodeUniqueToken, ID);
  strictEqual(written[0], `16 ${first?.spec.token}`);
  strictEqual(JSON.parse(first?.spec.token ?? "").Token, "token-1");

  // The machine came back under another key, silent for long enough, without the token.
  await harness.update(Link, ID, { nodePublicKey: "boot-2" }, {
    annotations: { [ANNOTATION_RECLAIMED_WITHOUT_NODE_TOKEN]: "boot-2" },
  });
  await harness.eventually(
    NodeUniqueTokenStatus,
    ID,
    ({ metadata }) => strictEqual(metadata.annotations[ANNOTATION_NODE_TOKEN_KEY], "boot-2"),
  );
  await harness.settled();
  const second = await harness.find(NodeUniqueToken, ID);
  strictEqual(JSON.parse(second?.spec.token ?? "").Token, "token-2");
  strictEqual(written.at(-1), `16 ${second?.spec.token}`);
  strictEqual(written.length, 2);
  deepStrictEqual(assigned, ["first", "replacement"]);
});
