// SPDX-License-Identifier: AGPL-3.0-or-later

import { create } from "@bufbuild/protobuf";
import { deepStrictEqual, strictEqual, throws } from "node:assert/strict";
import { CodedError } from "../base/errors.ts";
import { ProvisionRequestSchema } from "../proto/gen/siderolink/link_pb.ts";
import { generateKey } from "./keys.ts";
import { endpointsForTheWire, readJoinRequest } from "./provision.ts";

const UUID = "0C9F4E1E-52A4-4C0C-9A43-0B7F7C1D0001";

Deno.test("readJoinRequest() normalises the UUID and keeps tokens to itself", () => {
  const request = create(ProvisionRequestSchema, {
    nodeUuid: UUID,
    nodePublicKey: generateKey().publicKey,
    joinToken: "secret-token",
  });
  const read = readJoinRequest(request, "192.0.2.7");
  strictEqual(read.machineId, UUID.toLowerCase());
  strictEqual(read.joinToken.reveal(), "secret-token");
  strictEqual(JSON.stringify(read).includes("secret-token"), false);
  deepStrictEqual([read.nodeToken.reveal(), read.talosVersion, read.overGrpc], ["", "", false]);
});

Deno.test("readJoinRequest() names every malformed field at once", () => {
  const request = create(ProvisionRequestSchema, { nodeUuid: "x", nodePublicKey: "y" });
  throws(
    () => readJoinRequest(request, "192.0.2.7"),
    (error) =>
      error instanceof CodedError && error.code === "invalidArgument" &&
      error.message.includes("node_uuid") && error.message.includes("node_public_key"),
  );
});

Deno.test("endpointsForTheWire() swaps the first and the last of several", () => {
  deepStrictEqual(endpointsForTheWire([]), []);
  deepStrictEqual(endpointsForTheWire(["a"]), ["a"]);
  deepStrictEqual(endpointsForTheWire(["a", "b"]), ["b", "a"]);
  deepStrictEqual(endpointsForTheWire(["a", "b", "c"]), ["c", "b", "a"]);
});
