// SPDX-License-Identifier: AGPL-3.0-or-later

import assert from "node:assert/strict";
import { fromBinary } from "@bufbuild/protobuf";
import { type Event, EventType, State } from "../proto/gen/cosi/resource_pb.ts";
import { MachineStatusSpecSchema } from "../proto/gen/talos/resource/runtime_pb.ts";
import { type Client, createClient } from "../rpc/client.ts";
import type { EmulatedMachine } from "./machine.ts";
import type { TestServer } from "./testing.ts";
import { encode, failsWith, maintenanceApi, reach, withMachine } from "./testing_machine.ts";

const STATUS = { namespace: "runtime", type: "MachineStatuses.runtime.talos.dev" };
const META = { namespace: "runtime", type: "MetaKeys.runtime.talos.dev" };

async function stateOf(
  server: TestServer,
  machine: EmulatedMachine,
): Promise<Client<typeof State>> {
  const address = await reach(machine, ({ stage }) => stage === "maintenance");
  return createClient(State, await server.connect(address));
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

/** Reads events until there are `count`. */
async function take(
  watch: AsyncIterator<{ readonly event: Event[] }>,
  count: number,
): Promise<Event[]> {
  const events: Event[] = [];
  while (events.length < count) {
    const { value, done } = await watch.next();
    if (done) break;
    events.push(...value.event);
  }
  return events;
}

Deno.test("stateService() gives both forms of a spec", () =>
  withMachine(
    { schematic: "a".repeat(64), extensions: ["qemu-guest-agent:9.0"] },
    async (server, machine) => {
      const state = await stateOf(server, machine);
      const { resource } = await state.get({ ...STATUS, id: "machine" });
      const spec = fromBinary(
        MachineStatusSpecSchema,
        resource?.spec?.protoSpec ?? new Uint8Array(),
      );
      assert.equal(spec.status?.ready, true);
      assert.match(resource?.spec?.yamlSpec ?? "", /^stage: maintenance$/m);
      const extensions = await collect(state.list({
        namespace: "runtime",
        type: "ExtensionStatuses.runtime.talos.dev",
      }));
      assert.deepEqual(
        extensions.map((item) => /name: (\S+)/.exec(item.resource?.spec?.yamlSpec ?? "")?.[1]),
        ["qemu-guest-agent", "schematic"],
      );
      const definitions = await collect(state.list({
        namespace: "meta",
        type: "ResourceDefinitions.meta.cosi.dev",
        options: { idQuery: { regexp: "^machinestatuses\\." } },
      }));
      assert.equal(definitions.length, 1);
    },
  ));

Deno.test("stateService() refuses what a machine does not have, and every write", () =>
  withMachine({}, async (server, machine) => {
    const state = await stateOf(server, machine);
    const unknown = { namespace: "runtime", type: "Clusters.omni.sidero.dev" };
    await assert.rejects(() => state.get({ ...unknown, id: "x" }), failsWith("permissionDenied"));
    await assert.rejects(() => collect(state.list(unknown)), failsWith("permissionDenied"));
    await assert.rejects(
      () => collect(state.list({ ...STATUS, namespace: "default" })),
      failsWith("permissionDenied"),
    );
    // Known to Talos 1.14 alone.
    await assert.rejects(
      () => collect(state.list({ namespace: "runtime", type: "BootIDs.runtime.talos.dev" })),
      failsWith("permissionDenied"),
    );
    await assert.rejects(() => state.get({ ...STATUS, id: "x" }), failsWith("notFound"));
    // The small server of maintenance has no such call at all.
    await assert.rejects(() => state.destroy({ ...STATUS, id: "x" }), failsWith("unimplemented"));
  }));

Deno.test("stateService() watches a kind with its contents, changes and bookmarks", () =>
  withMachine({}, async (server, machine) => {
    const api = await maintenanceApi(server, machine);
    const state = await stateOf(server, machine);
    const watch = state.watch({
      ...META,
      options: { bootstrapContents: true },
      apiVersion: 1,
    })[Symbol.asyncIterator]();
    const [bootstrapped] = await take(watch, 1);
    assert.equal(bootstrapped?.eventType, EventType.BOOTSTRAPPED);
    await api.metaWrite({ key: 12, value: encode("a") });
    await api.metaWrite({ key: 12, value: encode("b") });
    await api.metaDelete({ key: 12 });
    const events = await take(watch, 3);
    assert.deepEqual(
      events.map(({ eventType, resource, old }) => [
        eventType,
        resource?.metadata?.id,
        resource?.metadata?.version,
        old?.metadata?.version,
      ]),
      [
        [EventType.CREATED, "0x0c", "1", undefined],
        [EventType.UPDATED, "0x0c", "2", "1"],
        [EventType.DESTROYED, "0x0c", "2", undefined],
      ],
    );
    await watch.return?.();
    const bookmark = events[0]?.bookmark ?? new Uint8Array();
    const resumed = state.watch({
      ...META,
      options: { startFromBookmark: bookmark },
      apiVersion: 1,
    })[Symbol.asyncIterator]();
    assert.deepEqual(
      (await take(resumed, 2)).map(({ eventType }) => eventType),
      [EventType.UPDATED, EventType.DESTROYED],
    );
    await resumed.return?.();
    const foreign = Uint8Array.from(bookmark, (byte, index) => index === 0 ? byte ^ 1 : byte);
    await assert.rejects(
      () =>
        collect(state.watch({ ...META, options: { startFromBookmark: foreign }, apiVersion: 1 })),
      failsWith("failedPrecondition"),
    );
  }));

Deno.test("stateService() watches one resource, there or not", () =>
  withMachine({}, async (server, machine) => {
    const state = await stateOf(server, machine);
    const first = async (id: string): Promise<EventType | undefined> => {
      const watch = state.watch({ ...STATUS, id, apiVersion: 1 })[Symbol.asyncIterator]();
      const [event] = await take(watch, 1);
      await watch.return?.();
      return event?.eventType;
    };
    assert.equal(await first("machine"), EventType.CREATED);
    assert.equal(await first("other"), EventType.DESTROYED);
  }));
