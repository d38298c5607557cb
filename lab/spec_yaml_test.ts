// SPDX-License-Identifier: AGPL-3.0-or-later

import assert from "node:assert/strict";
import { create } from "@bufbuild/protobuf";
import { NetIPPrefixSchema } from "../proto/gen/talos/common_pb.ts";
import { DiskSpecSchema } from "../proto/gen/talos/resource/block_pb.ts";
import { MemberSpecSchema } from "../proto/gen/talos/resource/cluster_pb.ts";
import {
  MachineType,
  NethelpersLinkType,
  RuntimeMachineStage,
} from "../proto/gen/talos/resource/enums_pb.ts";
import { MemoryModuleSpecSchema } from "../proto/gen/talos/resource/hardware_pb.ts";
import {
  LinkStatusSpecSchema,
  NodeAddressSpecSchema,
} from "../proto/gen/talos/resource/network_pb.ts";
import { MachineStatusSpecSchema } from "../proto/gen/talos/resource/runtime_pb.ts";
import { specYaml } from "./spec_yaml.ts";

Deno.test("specYaml() writes stages as words and keeps empty fields of a status", () => {
  const spec = create(MachineStatusSpecSchema, {
    stage: RuntimeMachineStage.MACHINE_STAGE_SHUTTING_DOWN,
    status: { ready: false, unmetConditions: [{ name: "services", reason: "etcd not running" }] },
  });
  assert.equal(
    specYaml(MachineStatusSpecSchema, spec),
    "stage: shutting down\nstatus:\n    ready: false\n    unmetConditions:\n" +
      "        - name: services\n          reason: etcd not running\n",
  );
});

Deno.test("specYaml() writes addresses, hardware addresses and link types as text", () => {
  const addresses = create(NodeAddressSpecSchema, {
    addresses: [
      create(NetIPPrefixSchema, { ip: Uint8Array.of(10, 5, 0, 1), prefixLength: 24 }),
      create(NetIPPrefixSchema, {
        ip: Uint8Array.of(0xfd, ...new Array(14).fill(0), 1),
        prefixLength: 64,
      }),
    ],
  });
  assert.equal(
    specYaml(NodeAddressSpecSchema, addresses),
    "addresses:\n    - 10.5.0.1/24\n    - fd00::1/64\nsortAlgorithm: v1\n",
  );
  const link = create(LinkStatusSpecSchema, {
    index: 1,
    type: NethelpersLinkType.LINK_ETHER,
    hardwareAddr: Uint8Array.of(0x52, 0, 1, 2, 3, 0xff),
    speedMegabits: 1000n,
  });
  assert.equal(
    specYaml(LinkStatusSpecSchema, link),
    "index: 1\ntype: ether\nhardwareAddr: 52:00:01:02:03:ff\nspeedMbit: 1000\n",
  );
});

Deno.test("specYaml() follows the names of each kind of spec", () => {
  const disk = create(DiskSpecSchema, { size: 10n, ioSize: 512n, devPath: "/dev/vda" });
  assert.equal(specYaml(DiskSpecSchema, disk), "size: 10\nio_size: 512\ndev_path: /dev/vda\n");
  const memory = create(MemoryModuleSpecSchema, { size: 4096, deviceLocator: "DIMM 0" });
  assert.equal(specYaml(MemoryModuleSpecSchema, memory), "sizeMiB: 4096\ndeviceLocator: DIMM 0\n");
  const member = create(MemberSpecSchema, {
    nodeId: "node",
    hostname: "h",
    machineType: MachineType.TYPE_CONTROL_PLANE,
  });
  assert.equal(
    specYaml(MemberSpecSchema, member),
    "nodeId: node\nhostname: h\nmachineType: controlplane\n",
  );
});
