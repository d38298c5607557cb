// SPDX-License-Identifier: AGPL-3.0-or-later

// Reads everything that the API of a populated server gives out and looks for what it must not.

import { deepStrictEqual, ok } from "node:assert/strict";
import { parse } from "yaml";
import { codeOf } from "../../base/errors.ts";
import type { Kind, ResourceType } from "../../cosi/resource.ts";
import { openState } from "../../cosi/state/core.ts";
import { createRemoteState } from "../../cosi/state/grpc_client.ts";
import type { RawResource } from "../../cosi/state/raw_resource.ts";
import type { State } from "../../cosi/state/state.ts";
import { openSqliteStore } from "../../cosi/store/sqlite.ts";
import { CATALOGUE } from "../../resources/catalogue.ts";
import { ClusterSecret } from "../../resources/cluster/cluster_secret.ts";
import { Config } from "../../resources/link/config.ts";
import { JoinToken } from "../../resources/link/join_token.ts";
import { NodeUniqueToken } from "../../resources/link/node_unique_token.ts";
import { TalosConfig } from "../../resources/talos/talos_config.ts";
import { createChannel } from "../../rpc/client.ts";
import { dialTcp } from "../../rpc/tcp.ts";
import { startLab } from "../compat/lab_server.ts";

/** Something that must not be found, except where it may. */
interface Needle {
  readonly what: string;
  readonly text: string;
  readonly allowedIn: readonly string[];
}

/** Text that was given out. */
interface Given {
  readonly where: string;
  readonly text: string;
}

/** Keys of documents whose values are secret. */
const SECRET_KEYS = /^(key|token|secret|.*secret|bootstraptoken|trustdinfo)$/i;

/** The secret strings of a document, whatever its shape. */
function secretsIn(value: unknown, key = ""): string[] {
  if (typeof value === "string") return SECRET_KEYS.test(key) && value.length >= 8 ? [value] : [];
  if (typeof value !== "object" || value === null) return [];
  if (Array.isArray(value)) return value.flatMap((item) => secretsIn(item, key));
  return Object.entries(value).flatMap(([name, item]) => secretsIn(item, name));
}

/** A secret as it may be written: itself, in base64, in hex, and what it is the base64 of. */
function spellings(secret: string): string[] {
  const bytes = new TextEncoder().encode(secret);
  const found = [secret, bytes.toBase64().replace(/=+$/, "").slice(0, -1), bytes.toHex()];
  try {
    const inner = Uint8Array.fromBase64(secret.trim());
    const text = new TextDecoder().decode(inner);
    found.push(inner.toHex());
    const pem = /-----BEGIN [^-]*KEY-----\n([^\n]+)/.exec(text)?.[1];
    if (pem !== undefined) found.push(pem);
  } catch {
    // It is no base64.
  }
  return found.filter((text) => text.length >= 8);
}

async function listAll(state: State, kind: Kind): Promise<readonly RawResource[]> {
  try {
    return await state.list(kind);
  } catch (error) {
    if (codeOf(error) === "permissionDenied") return [];
    throw error;
  }
}

/** Everything that clients get. */
async function readApi(endpoint: string): Promise<Given[]> {
  const port = Number(new URL(endpoint).port);
  const channel = createChannel({
    dial: (signal) => dialTcp({ hostname: "127.0.0.1", port, signal }),
    authority: "lab",
  });
  try {
    const state = createRemoteState(channel);
    const kinds: readonly Kind[] = [
      ...CATALOGUE.map(({ namespace, type }) => ({ namespace, type })),
      { namespace: "talos-mirror-types", type: "ResourceDefinitions.meta.cosi.dev" },
    ];
    const given: Given[] = [];
    const decoder = new TextDecoder("latin1");
    for (const kind of kinds) {
      for (const { metadata, wire, protoSpec, yamlSpec } of await listAll(state, kind)) {
        const where = `${metadata.type} ${metadata.id}`;
        given.push({ where, text: `${decoder.decode(wire)}\n${yamlSpec}\n${protoSpec.toHex()}` });
      }
    }
    for (const path of ["/metrics", "/readyz", "/healthz"]) {
      given.push({ where: path, text: await (await fetch(`${endpoint}${path}`)).text() });
    }
    return given;
  } finally {
    channel.close();
  }
}

function document(text: Uint8Array | string): unknown {
  return parse(typeof text === "string" ? text : new TextDecoder().decode(text));
}

/** What the stored state holds that nobody may see. */
async function readSecrets(directory: string): Promise<Needle[]> {
  const key = Uint8Array.fromBase64((await Deno.readTextFile(`${directory}/state.key`)).trim());
  const store = await openSqliteStore({
    path: `${directory}/state.sqlite`,
    keys: { current: key },
  });
  const state = await openState({ store });
  const needles: Needle[] = [];
  const add = (what: string, secrets: readonly string[], allowedIn: readonly string[] = []) => {
    ok(secrets.length > 0, `no ${what} in the state: the test would prove nothing`);
    for (const text of secrets.flatMap(spellings)) needles.push({ what, text, allowedIn });
  };
  const all = async <T extends ResourceType>(type: T) =>
    (await state.list(type)).map((raw) => ({ raw, spec: raw.decode<T["schema"]>(type.schema) }));
  try {
    add("private key of the server", (await all(Config)).map(({ spec }) => spec.privateKey));
    add(
      "join token",
      (await all(JoinToken)).map(({ raw }) => raw.metadata.id),
      ["ConnectionParams.omni.sidero.dev siderolink-config"],
    );
    add("node token", (await all(NodeUniqueToken)).map(({ spec }) => spec.token));
    add(
      "key of a cluster",
      (await all(ClusterSecret)).flatMap(({ spec }) => secretsIn(document(spec.data))),
    );
    add("key of the Talos API", (await all(TalosConfig)).map(({ spec }) => spec.key));
    return needles;
  } finally {
    await state.close();
  }
}

Deno.test("the API of a populated server gives out no secret in any spelling", async () => {
  const directory = await Deno.makeTempDir();
  try {
    let given: Given[];
    {
      await using lab = await startLab(["--state", directory, "--log-level", "debug"]);
      await lab.waitFor('cluster "lab" is running', 120_000);
      given = await readApi(lab.endpoint);
      given.push({ where: "the log", text: lab.log() });
    }
    const needles = await readSecrets(directory);
    ok(given.length > 250, `only ${given.length} texts`);
    const found = needles.flatMap(({ what, text, allowedIn }) =>
      given.filter(({ where, text: haystack }) =>
        haystack.includes(text) && !allowedIn.includes(where)
      ).map(({ where }) => `${what} in ${where}`)
    );
    deepStrictEqual([...new Set(found)], []);
    // The one place where a secret is meant to be shows that the search finds one.
    const shown = needles.some(({ text, allowedIn }) =>
      given.some(({ where, text: haystack }) =>
        allowedIn.includes(where) && haystack.includes(text)
      )
    );
    ok(shown, "the default join token is in ConnectionParams");
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});
