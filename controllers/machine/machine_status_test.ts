// SPDX-License-Identifier: AGPL-3.0-or-later

import { deepStrictEqual } from "node:assert/strict";
import { startHarness } from "../../cosi/testing.ts";
import { LABEL_MIRROR_MACHINE } from "../../resources/labels.ts";
import { Machine } from "../../resources/machine/machine.ts";
import { MachineStatus } from "../../resources/machine/machine_status.ts";
import { TalosExtensionStatus } from "../../resources/mirror/extension_status.ts";
import { TalosVersion } from "../../resources/mirror/version.ts";
import { machineStatusController } from "./machine_status.ts";

const ID = "1d4f0c6e-0000-4000-8000-000000000001";
const COPY = { labels: { [LABEL_MIRROR_MACHINE]: ID } };

function schematic(version: string) {
  return { metadata: { name: "schematic", version } };
}

Deno.test("a machine keeps the schematic and the version that it first came with", async () => {
  await using harness = startHarness(machineStatusController());
  const settle = async () => {
    await harness.settled();
    const spec = (await harness.find(MachineStatus, ID))?.spec;
    return [
      spec?.schematic?.initialSchematic,
      spec?.schematic?.fullId,
      spec?.initialTalosVersion,
      spec?.talosVersion,
    ];
  };
  await harness.create(Machine, ID, { managementAddress: "fdae::2", connected: true });
  deepStrictEqual(await settle(), [undefined, undefined, "", ""]);

  // An image without a schematic is no first schematic.
  await harness.create(TalosVersion, `${ID}/version`, { version: "v1.12.0" }, COPY);
  deepStrictEqual(await settle(), ["", "", "v1.12.0", "v1.12.0"]);

  await harness.create(TalosExtensionStatus, `${ID}/0`, schematic("first"), COPY);
  deepStrictEqual(await settle(), ["first", "first", "v1.12.0", "v1.12.0"]);

  await harness.update(TalosExtensionStatus, `${ID}/0`, schematic("second"));
  await harness.update(TalosVersion, `${ID}/version`, { version: "v1.12.1" });
  deepStrictEqual(await settle(), ["first", "second", "v1.12.0", "v1.12.1"]);
});
