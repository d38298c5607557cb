// SPDX-License-Identifier: AGPL-3.0-or-later

import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { fakeResource } from "../../cosi/testing.ts";
import { NethelpersLinkType } from "../../proto/gen/talos/resource/enums_pb.ts";
import { TalosAddressStatus } from "../../resources/mirror/address_status.ts";
import { TalosDisk } from "../../resources/mirror/disk.ts";
import { TalosExtensionStatus } from "../../resources/mirror/extension_status.ts";
import { TalosKernelCmdline } from "../../resources/mirror/kernel_cmdline.ts";
import { TalosLinkStatus } from "../../resources/mirror/link_status.ts";
import { TalosProcessor } from "../../resources/mirror/processor.ts";
import { TalosRouteStatus } from "../../resources/mirror/route_status.ts";
import { TalosSystemDisk } from "../../resources/mirror/system_disk.ts";
import { TalosVersion } from "../../resources/mirror/version.ts";
import { formatIp, formatMac, inventoryOf, type MachineCopies } from "./inventory.ts";

const NOTHING: MachineCopies = {
  addresses: [],
  diagnostics: [],
  disks: [],
  extensions: [],
  hostnames: [],
  kernelCmdlines: [],
  links: [],
  memoryModules: [],
  platformMetadatas: [],
  processors: [],
  routes: [],
  securityStates: [],
  systemDisks: [],
  versions: [],
};
const VERSIONS = [fakeResource(TalosVersion, "m/version", { version: "v1.12.0" })];

Deno.test("formatIp() writes addresses as people do", () => {
  strictEqual(formatIp(Uint8Array.of(192, 0, 2, 1)), "192.0.2.1");
  const cases = [
    ["fdae41e4649b93030000000000000001", "fdae:41e4:649b:9303::1"],
    ["00000000000000000000000000000000", "::"],
    ["00000000000000000000000000000001", "::1"],
    ["20010db8000000000001000000000001", "2001:db8::1:0:0:1"],
    ["20010db8000000010000000000000000", "2001:db8:0:1::"],
  ] as const;
  for (const [hex, text] of cases) strictEqual(formatIp(Uint8Array.fromHex(hex)), text);
  strictEqual(formatIp(new Uint8Array()), "");
  strictEqual(formatMac(Uint8Array.fromHex("525400a1b2c3")), "52:54:00:a1:b2:c3");
});

Deno.test("inventoryOf() leaves out sockets without a processor and links without a card", () => {
  const { hardware, network } = inventoryOf({
    ...NOTHING,
    processors: [
      fakeResource(TalosProcessor, "m/CPU-0", { coreCount: 4, productName: "X" }),
      fakeResource(TalosProcessor, "m/CPU-1", {}),
    ],
    links: [
      fakeResource(TalosLinkStatus, "m/eth0", {
        type: NethelpersLinkType.LINK_ETHER,
        hardwareAddr: Uint8Array.fromHex("525400000001"),
        linkState: true,
        // A card without a cable says that it does not know.
        speedMegabits: 0xffff_ffffn,
      }),
      fakeResource(TalosLinkStatus, "m/bond0", {
        type: NethelpersLinkType.LINK_ETHER,
        kind: "bond",
      }),
    ],
  });
  deepStrictEqual(hardware?.processors?.map(({ coreCount }) => coreCount), [4]);
  deepStrictEqual(network?.networkLinks, [{
    linuxName: "eth0",
    hardwareAddress: "52:54:00:00:00:01",
    speedMbps: 0,
    linkUp: true,
    description: "",
  }]);
});

Deno.test("inventoryOf() marks the disk that the system is on", () => {
  const { hardware } = inventoryOf({
    ...NOTHING,
    disks: [
      fakeResource(TalosDisk, "m/sda", { devPath: "/dev/sda", rotational: true }),
      fakeResource(TalosDisk, "m/nvme0n1", { devPath: "/dev/nvme0n1", transport: "nvme" }),
      fakeResource(TalosDisk, "m/sr0", { devPath: "/dev/sr0", cdrom: true }),
    ],
    systemDisks: [fakeResource(TalosSystemDisk, "m/system-disk", { devPath: "/dev/nvme0n1" })],
  });
  deepStrictEqual(
    hardware?.blockdevices?.map(({ name, type, systemDisk }) => [name, type, systemDisk]),
    [["sda", "HDD", false], ["nvme0n1", "NVME", true], ["sr0", "CD", false]],
  );
});

Deno.test("inventoryOf() lists addresses and the gateways of default routes", () => {
  const address = Uint8Array.of(192, 0, 2, 7);
  const gateway = { ip: Uint8Array.of(192, 0, 2, 1) };
  const local = { ip: Uint8Array.of(192, 0, 2, 0), prefixLength: 24 };
  const { network } = inventoryOf({
    ...NOTHING,
    addresses: [
      fakeResource(TalosAddressStatus, "m/a", { address: { ip: address, prefixLength: 24 } }),
    ],
    routes: [
      fakeResource(TalosRouteStatus, "m/default", { gateway }),
      fakeResource(TalosRouteStatus, "m/again", { gateway }),
      fakeResource(TalosRouteStatus, "m/local", { destination: local }),
    ],
  });
  deepStrictEqual(network?.addresses, ["192.0.2.7/24"]);
  deepStrictEqual(network?.defaultGateways, ["192.0.2.1"]);
});

Deno.test("inventoryOf() shows no secret of the command line or of the schematic", () => {
  const secret = "siderolink.api=grpc://x?jointoken=SECRET talos.config=https://u:SECRET@h/c";
  const { kernelCmdline, schematic } = inventoryOf({
    ...NOTHING,
    versions: VERSIONS,
    kernelCmdlines: [fakeResource(TalosKernelCmdline, "m/cmdline", { cmdline: secret })],
    extensions: [
      fakeResource(TalosExtensionStatus, "m/0", {
        metadata: { name: "schematic", version: "abc", extraInfo: `extraKernelArgs: [${secret}]` },
      }),
      fakeResource(TalosExtensionStatus, "m/1", { metadata: { name: "iscsi-tools" } }),
    ],
  });
  strictEqual(kernelCmdline?.includes("SECRET"), false);
  strictEqual(schematic?.raw?.includes("SECRET"), false);
  deepStrictEqual([schematic?.fullId, schematic?.extensions, schematic?.invalid], [
    "abc",
    ["iscsi-tools"],
    false,
  ]);
});

Deno.test("inventoryOf() tells a machine without a schematic from one that has not spoken", () => {
  strictEqual(inventoryOf(NOTHING).schematic, undefined);
  strictEqual(inventoryOf({ ...NOTHING, versions: VERSIONS }).schematic?.invalid, true);
});
