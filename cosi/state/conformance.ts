// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * One suite for every way to a state: each store, in process and over gRPC.
 *
 * @module
 */

import { deepStrictEqual, ok, rejects, strictEqual } from "node:assert/strict";
import type { Kind, Metadata } from "../resource.ts";
import type { RawResource } from "./raw_resource.ts";
import { tombstoneMetadata } from "./tombstone.ts";
import type { ResourceDraft, State, StateEvent } from "./state.ts";

/** A state under test and how to let go of it. */
export interface StateUnderTest extends AsyncDisposable {
  readonly state: State;
}

/** How to get a fresh, empty state. */
export type OpenStateUnderTest = () => Promise<StateUnderTest>;

/** One test of the suite. */
export interface ConformanceCase {
  readonly name: string;
  run(state: State): Promise<void>;
}

/** The kind that the cases use. */
export const KIND: Kind = { namespace: "default", type: "test/thing" };

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** A resource to write. */
export function draft(id: string, spec = "", metadata: Partial<Metadata> = {}): ResourceDraft {
  return {
    metadata: { ...tombstoneMetadata(KIND.namespace, KIND.type, id), ...metadata },
    protoSpec: encoder.encode(spec),
    yamlSpec: "",
  };
}

/** The draft that changes a stored resource. */
export function changed(resource: RawResource, metadata: Partial<Metadata> = {}): ResourceDraft {
  return {
    metadata: { ...resource.metadata, ...metadata },
    protoSpec: resource.protoSpec,
    yamlSpec: resource.yamlSpec,
  };
}

/** The name of a resource of the cases. */
export function ref(id: string): Kind & { readonly id: string } {
  return { ...KIND, id };
}

/** The text of a spec. */
export function specText(resource: RawResource): string {
  return decoder.decode(resource.protoSpec);
}

/** Events one by one. */
export async function* eachEvent(
  watch: AsyncIterable<readonly StateEvent[]>,
): AsyncGenerator<StateEvent, undefined> {
  for await (const events of watch) yield* events;
}

/** The next `count` events, each waited for up to five seconds. */
export async function nextEvents(
  events: AsyncGenerator<StateEvent, undefined>,
  count: number,
): Promise<StateEvent[]> {
  const found: StateEvent[] = [];
  while (found.length < count) {
    const { promise: late, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(
      () => reject(new Error(`Only ${found.length} of ${count} events in 5 s`)),
      5000,
    );
    try {
      const next = await Promise.race([events.next(), late]);
      if (next.done) throw new Error(`Watch ended after ${found.length} of ${count} events`);
      found.push(next.value);
    } finally {
      clearTimeout(timer);
    }
  }
  return found;
}

/** An event in short. */
export function brief({ type, resource, old }: StateEvent): string {
  const before = old === undefined ? "" : ` from v${old.metadata.version}`;
  return `${type} ${resource.metadata.id} v${resource.metadata.version}${before}`;
}

/** Fails unless the promise rejects with the code. */
export async function rejectsWith(promise: Promise<unknown>, code: string): Promise<void> {
  await rejects(promise, { code });
}

async function crud(state: State): Promise<void> {
  await rejectsWith(state.get(ref("a")), "notFound");
  deepStrictEqual(await state.list(KIND), []);
  const created = await state.create(draft("b", "one"));
  strictEqual(created.metadata.version, 1);
  strictEqual(created.metadata.phase, "running");
  ok(created.metadata.created !== undefined && created.metadata.updated === undefined);
  await state.create(draft("a"));
  deepStrictEqual((await state.list(KIND)).map(({ metadata }) => metadata.id), ["a", "b"]);
  deepStrictEqual((await state.get(ref("b"))).metadata, created.metadata);
  strictEqual(specText(await state.get(ref("b"))), "one");
  await rejectsWith(state.create(draft("a")), "alreadyExists");
  strictEqual(await state.teardown(ref("a")), true);
  await state.destroy(ref("a"));
  await rejectsWith(state.get(ref("a")), "notFound");
  await rejectsWith(state.teardown(ref("a")), "notFound");
  await rejectsWith(state.destroy(ref("a")), "notFound");
  await rejectsWith(state.update(draft("a")), "notFound");
  strictEqual((await state.create(draft("a"))).metadata.version, 1);
}

async function updates(state: State): Promise<void> {
  const first = await state.create(draft("a", "one", { labels: { x: "1" } }));
  const second = await state.update({
    ...changed(first, { labels: {} }),
    protoSpec: encoder.encode("two"),
  });
  strictEqual(second.metadata.version, 2);
  deepStrictEqual(second.metadata.created, first.metadata.created);
  ok(second.metadata.updated !== undefined);
  deepStrictEqual(second.metadata.labels, {});
  strictEqual(specText(await state.get(ref("a"))), "two");
  await rejectsWith(state.update(changed(first)), "conflict");
  await rejectsWith(state.update(changed(second, { version: 3 })), "conflict");
  await rejectsWith(state.update(changed(second, { version: 0 })), "conflict");
  await rejectsWith(
    state.update(changed(second), { expectedPhase: "tearingDown" }),
    "phaseConflict",
  );
  await state.teardown(ref("a"));
  const marked = await state.get(ref("a"));
  strictEqual(marked.metadata.phase, "tearingDown");
  strictEqual(marked.metadata.version, 3);
  await rejectsWith(state.update(changed(marked), { expectedPhase: "running" }), "phaseConflict");
  const last = await state.update(changed(marked), { expectedPhase: "tearingDown" });
  strictEqual(last.metadata.phase, "tearingDown");
}

async function owners(state: State): Promise<void> {
  await rejectsWith(state.create(draft("a", "", { owner: "x" })), "ownerConflict");
  await rejectsWith(state.create(draft("a", "", { owner: "x" }), { owner: "y" }), "ownerConflict");
  const made = await state.create(draft("a"), { owner: "one" });
  strictEqual(made.metadata.owner, "one");
  await rejectsWith(state.update(changed(made)), "ownerConflict");
  await rejectsWith(state.update(changed(made), { owner: "two" }), "ownerConflict");
  await rejectsWith(state.teardown(ref("a")), "ownerConflict");
  await rejectsWith(state.destroy(ref("a"), { owner: "two" }), "ownerConflict");
  await rejectsWith(state.teardownAndDestroy(ref("a")), "ownerConflict");
  strictEqual((await state.update(changed(made), { owner: "one" })).metadata.owner, "one");
  strictEqual(await state.teardown(ref("a"), { owner: "one" }), true);
  await state.destroy(ref("a"), { owner: "one" });
}

async function finalizers(state: State): Promise<void> {
  const made = await state.create(draft("a", "", { finalizers: ["f"] }));
  await rejectsWith(state.destroy(ref("a")), "conflict");
  strictEqual(await state.teardown(ref("a")), false);
  strictEqual(await state.teardown(ref("a")), false);
  const marked = await state.get(ref("a"));
  strictEqual(marked.metadata.version, made.metadata.version + 1);
  const more = await state.update(changed(marked, { finalizers: ["f", "g"] }));
  deepStrictEqual(more.metadata.finalizers, ["f", "g"]);
  await state.update(changed(more, { finalizers: [] }));
  strictEqual(await state.teardown(ref("a")), true);
  await state.destroy(ref("a"));
}

async function teardownAndDestroy(state: State): Promise<void> {
  await rejectsWith(state.teardownAndDestroy(ref("a")), "notFound");
  await state.create(draft("a"));
  await state.teardownAndDestroy(ref("a"));
  await rejectsWith(state.get(ref("a")), "notFound");
  await state.create(draft("b", "", { finalizers: ["f"] }));
  const end = new AbortController();
  const events = eachEvent(await state.watch(ref("b"), { signal: end.signal }));
  const gone = state.teardownAndDestroy(ref("b"));
  const [, marked] = await nextEvents(events, 2);
  strictEqual(marked?.resource.metadata.phase, "tearingDown");
  await state.update(changed(marked.resource, { finalizers: [] }));
  await gone;
  await rejectsWith(state.get(ref("b")), "notFound");
  end.abort();
  await events.return(undefined);
}

async function parallelWrites(state: State): Promise<void> {
  await state.create(draft("a"));
  const destroys = await Promise.allSettled(
    Array.from({ length: 10 }, () => state.destroy(ref("a"))),
  );
  strictEqual(destroys.filter(({ status }) => status === "fulfilled").length, 1);
  for (const outcome of destroys) {
    if (outcome.status === "rejected") strictEqual(outcome.reason.code, "notFound");
  }
  const made = await state.create(draft("a"));
  const updates = await Promise.allSettled(
    Array.from({ length: 10 }, () => state.update(changed(made))),
  );
  strictEqual(updates.filter(({ status }) => status === "fulfilled").length, 1);
  strictEqual((await state.get(ref("a"))).metadata.version, 2);
  const ids = Array.from({ length: 300 }, (_, i) => `many-${String(i).padStart(3, "0")}`);
  await Promise.all(ids.map((id) => state.create(draft(id, id))));
  const listed = await state.list(KIND, { idRegexp: "^many-" });
  deepStrictEqual(listed.map(specText), ids);
}

async function oddContent(state: State): Promise<void> {
  const ids = ["/", "a/b", "é", "\u{1F600}", "\uE000", "z".repeat(200)];
  for (const id of ids) await state.create(draft(id, `spec of ${id}`));
  // Byte order of UTF-8: the emoji lies behind the private use area, whatever UTF-16 says.
  const sorted = ["/", "a/b", "z".repeat(200), "é", "\uE000", "\u{1F600}"];
  deepStrictEqual((await state.list(KIND)).map(({ metadata }) => metadata.id), sorted);
  for (const id of ids) strictEqual(specText(await state.get(ref(id))), `spec of ${id}`);
  const labels = JSON.parse('{"__proto__": "p", "constructor": "c", "": ""}');
  const odd = await state.create({
    ...draft("odd", "", { labels, annotations: { text: "line\nline" } }),
    protoSpec: Uint8Array.of(8, 255, 255, 1),
    yamlSpec: "a: 1\n",
  });
  const again = await state.get(ref("odd"));
  deepStrictEqual(Object.entries(again.metadata.labels).sort(), Object.entries(labels).sort());
  deepStrictEqual(again.metadata.annotations, { text: "line\nline" });
  deepStrictEqual([...again.protoSpec], [8, 255, 255, 1]);
  strictEqual(again.yamlSpec, odd.yamlSpec);
  strictEqual(odd.yamlSpec, "a: 1\n");
}

/** The cases about reading and writing. */
export const WRITE_CASES: readonly ConformanceCase[] = [
  { name: "create, get, list and destroy resources", run: crud },
  { name: "update() checks version and phase", run: updates },
  { name: "writes check the owner", run: owners },
  { name: "destroy() is refused while there are finalizers", run: finalizers },
  { name: "teardownAndDestroy() waits until the finalizers are gone", run: teardownAndDestroy },
  { name: "parallel writes to one ID are decided one after the other", run: parallelWrites },
  { name: "any ID, label and spec comes back as it was written", run: oddContent },
];

/** Registers the suite for one way to a state. */
export function testConformance(
  name: string,
  cases: readonly ConformanceCase[],
  open: OpenStateUnderTest,
  options: { readonly ignore?: boolean } = {},
): void {
  for (const { name: what, run } of cases) {
    Deno.test(`${name}: ${what}`, { ignore: options.ignore ?? false }, async () => {
      await using under = await open();
      await run(under.state);
    });
  }
}
