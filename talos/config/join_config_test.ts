// SPDX-License-Identifier: AGPL-3.0-or-later

import assert from "node:assert/strict";
import { type JoinOptions, makeJoinConfig } from "./join_config.ts";
import { GOLDEN_NOTE, hasGoldenData, readGolden } from "./testing.ts";

Deno.test("makeJoinConfig() sorts the query and asks for a tunnel", () => {
  const { kernelArgs } = makeJoinConfig({
    apiUrl: "https://batuta.example.org:8090",
    joinToken: "secret",
    useGrpcTunnel: true,
    eventSinkPort: 8091,
    logServerPort: 8092,
  });
  assert.equal(
    kernelArgs[0],
    "siderolink.api=https://batuta.example.org:8090?grpc_tunnel=true&jointoken=secret",
  );
});

interface JoinCase extends JoinOptions {
  readonly name: string;
  readonly kernelArgs?: readonly string[];
  readonly config?: string;
  readonly error?: string;
}

Deno.test({
  name: `makeJoinConfig() follows the golden cases${GOLDEN_NOTE}`,
  ignore: !hasGoldenData,
  fn() {
    const cases: JoinCase[] = JSON.parse(readGolden("talos-cases/cases_joinconfig.json"));
    for (const { name, kernelArgs, config, error, ...options } of cases) {
      const make = () => makeJoinConfig({ ...options, eventSinkPort: options.eventSinkPort ?? 0 });
      if (error !== undefined) assert.throws(make, { message: error }, name);
      else assert.deepEqual(make(), { kernelArgs, config }, name);
    }
  },
});
