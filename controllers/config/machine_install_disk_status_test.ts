// SPDX-License-Identifier: AGPL-3.0-or-later

import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { fakeResource } from "../../cosi/testing.ts";
import { MachineInstallDiskConfig } from "../../resources/machine/machine_install_disk_config.ts";
import { MachineStatus } from "../../resources/machine/machine_status.ts";
import { planMachineInstallDiskStatus } from "./machine_install_disk_status.ts";

const ID = "1d4f0c6e-0000-4000-8000-000000000001";
const GB = 1_000_000_000n;
const SMALL = { devPath: "/dev/sdb", size: 4n * GB };
const NVME = {
  devPath: "/dev/nvme0n1",
  size: 500n * GB,
  symlinks: ["/dev/disk/by-id/nvme-a"],
};
const HDD = { devPath: "/dev/sda", size: 100n * GB };
const CD = { devPath: "/dev/sr0", size: 10n * GB, cdrom: true };
const STICK = { devPath: "/dev/sdc", size: 10n * GB, readonly: true };

type Device = typeof HDD & { systemDisk?: boolean };

function choose(
  blockdevices: readonly Device[],
  wanted?: { disk?: string; diskSelector?: string },
) {
  const status = fakeResource(MachineStatus, ID, { hardware: { blockdevices: [...blockdevices] } });
  const plan = planMachineInstallDiskStatus(status, {
    wanted: wanted && fakeResource(MachineInstallDiskConfig, ID, wanted),
  });
  if (plan.kind !== "write") throw new Error(`Unexpected ${plan.kind}`);
  return plan.spec;
}

Deno.test("planMachineInstallDiskStatus() takes the smallest disk that is large enough", () => {
  strictEqual(choose([SMALL, NVME, HDD, CD, STICK]).disk, "/dev/sda");
});

Deno.test("planMachineInstallDiskStatus() stays with the disk that the system is on", () => {
  strictEqual(choose([HDD, { ...NVME, systemDisk: true }]).disk, "/dev/nvme0n1");
});

Deno.test("planMachineInstallDiskStatus() says of every disk why not", () => {
  const disks = choose([SMALL, HDD, CD, STICK]).disks?.map((
    { devPath, selectable, skipReason },
  ) => [
    devPath,
    selectable,
    skipReason,
  ]);
  deepStrictEqual(disks, [
    ["/dev/sdb", false, "it is smaller than 5 GB"],
    ["/dev/sda", true, ""],
    ["/dev/sr0", false, "it is a CD drive"],
    ["/dev/sdc", false, "it is read-only"],
  ]);
});

Deno.test("planMachineInstallDiskStatus() takes what the user names, by path or by link", () => {
  strictEqual(choose([HDD, NVME], { disk: "/dev/nvme0n1" }).disk, "/dev/nvme0n1");
  strictEqual(choose([HDD, NVME], { disk: "/dev/disk/by-id/nvme-a" }).disk, "/dev/nvme0n1");
});

Deno.test("planMachineInstallDiskStatus() never falls back from what the user names", () => {
  const cases = [
    [{ disk: "/dev/sdz" }, 'the machine has no disk "/dev/sdz"'],
    [{ disk: "/dev/sdb" }, 'disk "/dev/sdb" cannot be used: it is smaller than 5 GB'],
    [
      { diskSelector: "disk.size > 1u * TB" },
      'disk selector "disk.size > 1u * TB" selects no disk that can be used',
    ],
  ] as const;
  for (const [wanted, message] of cases) {
    const spec = choose([SMALL, HDD], wanted);
    deepStrictEqual([spec.disk, spec.message], ["", message]);
  }
  strictEqual(choose([SMALL]).message, "the machine has no disk that is large enough");
});

Deno.test("planMachineInstallDiskStatus() changes its hash with the choice and the disks", () => {
  const hashes = [
    choose([HDD]),
    choose([HDD, NVME]),
    choose([HDD, NVME], { disk: "/dev/sda" }),
  ].map(({ selectionHash }) => selectionHash);
  strictEqual(new Set(hashes).size, 3);
  strictEqual(choose([HDD]).selectionHash, hashes[0]);
});

Deno.test("planMachineInstallDiskStatus() takes the smallest disk that an expression selects", () => {
  const disks = [SMALL, NVME, HDD, CD, STICK];
  const cases = [
    ["true", "/dev/sda"],
    ["disk.size > 100u * GB", "/dev/nvme0n1"],
    ["disk.size >= 93u * GiB && !disk.readonly", "/dev/sda"],
    ["glob('/dev/nvme*', disk.dev_path)", "/dev/nvme0n1"],
    ["disk.dev_path.matches('sd[a-z]$') && !system_disk", "/dev/sda"],
  ] as const;
  for (const [diskSelector, disk] of cases) {
    strictEqual(choose(disks, { diskSelector }).disk, disk, diskSelector);
  }
});

Deno.test("planMachineInstallDiskStatus() says what is wrong with an expression", () => {
  const cases = [
    ["disk.size >", /is not valid/],
    ["nobody.knows", /cannot be evaluated/],
    ["disk.size + 1", /cannot be evaluated/],
    ["disk.dev_path", /must be true or false/],
  ] as const;
  for (const [diskSelector, reason] of cases) {
    const { disk, message } = choose([HDD], { diskSelector });
    strictEqual(disk, "");
    strictEqual(reason.test(message ?? ""), true, diskSelector);
  }
});
