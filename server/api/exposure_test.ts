// SPDX-License-Identifier: AGPL-3.0-or-later

import { deepStrictEqual, ok } from "node:assert/strict";
import { CATALOGUE } from "../../resources/catalogue.ts";
import { parseConfig } from "../config/parse_config.ts";
import { describeExposure } from "./exposure.ts";

function configWith(api: string): ReturnType<typeof parseConfig> {
  return parseConfig(`
machineApiAdvertisedUrl: grpc://a.example:1
wireguard: { advertisedEndpoint: "a.example:1" }
state: { kind: memory }
api: ${api}
`);
}

Deno.test("describeExposure() names every type that a public port opens, and only those", () => {
  deepStrictEqual(describeExposure(configWith("{}"), CATALOGUE), []);
  const text = describeExposure(
    configWith('{ bindAddress: "0.0.0.0:8080", allowPublicBind: true }'),
    CATALOGUE,
  ).join("\n");
  const words = new Set(text.split(/[\s,()]+/));
  for (const { type, access } of CATALOGUE) {
    ok(words.has(type) === (access !== "hidden"), `${type} ${JSON.stringify(access)}`);
  }
});
