// SPDX-License-Identifier: AGPL-3.0-or-later

import { strictEqual } from "node:assert/strict";
import { parseContract } from "../../talos/config/contract.ts";
import { type InstallerFields, installImage } from "./install_image.ts";

const FIELDS: InstallerFields = {
  Host: "factory.example.org",
  Platform: "metal",
  SecureBoot: false,
  Schematic: "abc",
  Version: "1.12.10",
};

Deno.test("installImage() names the platform from contract 1.10 on", () => {
  const image = (contract: string, fields = FIELDS) =>
    installImage(fields, parseContract(contract), undefined);
  strictEqual(image("v1.9"), "factory.example.org/installer/abc:v1.12.10");
  strictEqual(image("v1.10"), "factory.example.org/metal-installer/abc:v1.12.10");
  strictEqual(
    image("v1.12", { ...FIELDS, SecureBoot: true }),
    "factory.example.org/metal-installer-secureboot/abc:v1.12.10",
  );
});

Deno.test("installImage() follows the site's own rule", () => {
  const template = ({ Host, Schematic, Version }: InstallerFields) =>
    `${Host}/alt-orchestra-installer/${Schematic}:v${Version}`;
  strictEqual(
    installImage(FIELDS, parseContract("v1.12"), template),
    "factory.example.org/alt-orchestra-installer/abc:v1.12.10",
  );
});

Deno.test("installImage() never leaves the schematic empty", () => {
  const image = installImage({ ...FIELDS, Schematic: "" }, parseContract("v1.12"), undefined);
  strictEqual(
    /^factory\.example\.org\/metal-installer\/[0-9a-f]{64}:v1\.12\.10$/.test(image),
    true,
  );
});
