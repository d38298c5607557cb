// SPDX-License-Identifier: AGPL-3.0-or-later

// Every type of the public client: its definition, and random content that goes there and back.

import { strictEqual } from "node:assert/strict";
import { silentLogger } from "../../base/log.ts";
import { openState } from "../../cosi/state/core.ts";
import { createStateService } from "../../cosi/state/service.ts";
import { openMemoryStore } from "../../cosi/store/memory.ts";
import { CATALOGUE } from "../../resources/catalogue.ts";
import { NAMESPACES } from "../../resources/namespaces.ts";
import { createRpcServer } from "../../rpc/server.ts";
import { listenTcp } from "../../rpc/tcp.ts";
import { publishDefinitions } from "../../server/api/definitions.ts";
import { createYamlSpecOf } from "../../server/api/yaml.ts";
import { buildGo, hasProgram } from "./lab_server.ts";

const missing = hasProgram("go", "version") ? "" : " (skipped: go is not installed)";

Deno.test({
  name: `the catalogue equals the public client's, byte and text${missing}`,
  ignore: missing !== "",
  async fn() {
    const home = await Deno.makeTempDir();
    const state = await openState({ store: openMemoryStore() });
    const declared = new Set(CATALOGUE.map(({ type }) => type));
    // Without a policy, so that types are filled that only the server writes.
    const service = createStateService(state, {
      yamlSpecOf: createYamlSpecOf(CATALOGUE),
      isDeclared: (type) => declared.has(type),
    });
    const server = createRpcServer({ services: [service], log: silentLogger });
    const listener = listenTcp({ hostname: "127.0.0.1", port: 0 });
    const serving = server.serve(listener);
    try {
      await publishDefinitions(state, CATALOGUE, NAMESPACES);
      await buildGo("registry", `${home}/registry`);
      const seed = crypto.getRandomValues(new Uint32Array(1))[0] ?? 0;
      const { code, stdout, stderr } = await new Deno.Command(`${home}/registry`, {
        args: [`http://127.0.0.1:${listener.port}`, String(seed)],
        stdout: "piped",
        stderr: "piped",
      }).output();
      const decoder = new TextDecoder();
      const output = decoder.decode(stdout) + decoder.decode(stderr);
      strictEqual(code, 0, `seed ${seed}: ${output}`);
    } finally {
      server.close();
      listener.close();
      await serving;
      await state.close();
      await Deno.remove(home, { recursive: true });
    }
  },
});
