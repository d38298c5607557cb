// SPDX-License-Identifier: AGPL-3.0-or-later

import assert from "node:assert/strict";
import { codeOf } from "../base/errors.ts";
import {
  issueMachineServerCertificate,
  issueTalosClientCertificate,
} from "../talos/config/certificates.ts";
import { createCa } from "../talos/config/pki.ts";
import { isMaintenanceMethod, mayCall, rolesOfCertificate } from "./access.ts";

const MACHINE = "machine.MachineService";

const CASES: readonly [role: string, service: string, method: string, allowed: boolean][] = [
  ["os:admin", MACHINE, "Reset", true],
  ["os:operator", MACHINE, "Reset", false],
  ["os:operator", MACHINE, "Reboot", true],
  ["os:operator", MACHINE, "Version", true],
  ["os:reader", MACHINE, "Version", true],
  ["os:reader", MACHINE, "Reboot", false],
  ["os:reader", "cosi.resource.State", "Watch", true],
  ["os:reader", "cosi.resource.State", "Create", false],
  ["os:etcd:backup", MACHINE, "EtcdSnapshot", true],
  ["os:etcd:backup", MACHINE, "Version", false],
  ["os:meta:writer", MACHINE, "MetaWrite", true],
  ["somebody", MACHINE, "Version", false],
];

Deno.test("mayCall() follows the roles of the machine API", () => {
  for (const [role, service, method, allowed] of CASES) {
    assert.equal(mayCall(new Set([role]), service, method), allowed, `${role} ${method}`);
  }
});

Deno.test("isMaintenanceMethod() knows the small server of maintenance", () => {
  assert.equal(isMaintenanceMethod(MACHINE, "ApplyConfiguration"), true);
  assert.equal(isMaintenanceMethod(MACHINE, "ServiceList"), false);
  assert.equal(isMaintenanceMethod("machine.LifecycleService", "Install"), false);
});

Deno.test("rolesOfCertificate() takes client certificates alone", async () => {
  const nowMs = Date.now();
  const authority = await createCa({ kind: "ed25519", nowMs, organization: "talos" });
  const client = await issueTalosClientCertificate(authority, {
    roles: ["os:reader", "os:etcd:backup"],
    nowMs,
  });
  assert.deepEqual([...rolesOfCertificate(client.crt)].sort(), ["os:etcd:backup", "os:reader"]);
  const server = await issueMachineServerCertificate(authority, { nowMs });
  assert.throws(
    () => rolesOfCertificate(server.crt),
    (error) => codeOf(error) === "unauthenticated",
  );
});
