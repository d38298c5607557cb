// SPDX-License-Identifier: AGPL-3.0-or-later

import { deepStrictEqual, ok, rejects, strictEqual } from "node:assert/strict";
import { setImmediate } from "node:timers";
import { CodedError } from "../../base/errors.ts";
import { openMemoryStore } from "../store/memory.ts";
import type { Store, StoreBatch } from "../store/store.ts";
import { brief, changed, draft, KIND, ref } from "./conformance.ts";
import { openState, type StateCore } from "./core.ts";
import type { StateEvent } from "./state.ts";

/** A store whose commits settle when the test says so. */
function manualStore() {
  const commits: (PromiseWithResolvers<void> & { readonly batch: StoreBatch })[] = [];
  const store: Store = {
    ...openMemoryStore(),
    immediate: false,
    commit(batch) {
      // The first commit is that of the epoch.
      if (batch.epochs !== undefined) return Promise.resolve();
      const commit = { ...Promise.withResolvers<void>(), batch };
      commits.push(commit);
      return commit.promise;
    },
  };
  return { store, commits };
}

/** One turn of the event loop. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Lets everything that can run do so. */
async function settle(): Promise<void> {
  await turn();
  await turn();
}

async function take(state: StateCore, count: number): Promise<StateEvent[]> {
  const { signal } = new AbortController();
  const taken: StateEvent[] = [];
  for await (const events of await state.watchKind(KIND, { tailEvents: 1000, signal })) {
    taken.push(...events);
    if (taken.length >= count) break;
  }
  return taken;
}

Deno.test("openState() shows and acknowledges a write only when it is durable", async () => {
  const { store, commits } = manualStore();
  const state = await openState({ store });
  let acknowledged = false;
  const write = state.create(draft("a")).then(() => acknowledged = true);
  await settle();
  strictEqual(commits.length, 1);
  strictEqual(state.peek(ref("a")), undefined);
  strictEqual(acknowledged, false);
  commits[0]?.resolve();
  await write;
  ok(state.peek(ref("a")) !== undefined);
  await state.close();
});

Deno.test("openState() commits the writes of one moment together", async () => {
  const { store, commits } = manualStore();
  const state = await openState({ store });
  const first = state.create(draft("a"));
  await settle();
  const more = ["b", "c", "d"].map((id) => state.create(draft(id)));
  await settle();
  deepStrictEqual(commits.map(({ batch }) => batch.changes.length), [1]);
  commits[0]?.resolve();
  await first;
  await settle();
  deepStrictEqual(commits.map(({ batch }) => batch.changes.length), [1, 3]);
  commits[1]?.resolve();
  await Promise.all(more);
  deepStrictEqual(commits[1]?.batch.changes.map(({ revision }) => revision), [2, 3, 4]);
  await state.close();
});

Deno.test("openState() lets writes to one ID wait for each other and no batch hold it twice", async () => {
  const { store, commits } = manualStore();
  const state = await openState({ store });
  const created = state.create(draft("a"));
  const destroyed = state.destroy(ref("a"));
  const again = state.create(draft("a"));
  const refusedLater = state.create(draft("a"));
  for (let i = 0; i < 3; i++) {
    await settle();
    strictEqual(commits.length, i + 1);
    strictEqual(commits[i]?.batch.changes.length, 1);
    commits[i]?.resolve();
  }
  await rejects(refusedLater, { code: "alreadyExists" });
  await Promise.all([created, destroyed, again]);
  deepStrictEqual((await take(state, 3)).map(brief), [
    "created a v1",
    "destroyed a v1",
    "created a v1",
  ]);
  await state.close();
});

Deno.test("openState() goes on after the store refused a batch", async () => {
  const { store, commits } = manualStore();
  const failures: unknown[] = [];
  const state = await openState({ store, onFailure: (error) => failures.push(error) });
  const write = state.create(draft("a"));
  const behind = state.create(draft("a"));
  await settle();
  commits[0]?.reject(new CodedError("resourceExhausted", "Disk full"));
  await rejects(write, { code: "resourceExhausted" });
  await settle();
  commits[1]?.resolve();
  strictEqual((await behind).metadata.version, 1);
  deepStrictEqual(failures, []);
  await state.close();
});

Deno.test("openState() does not let one change that the store cannot take cost the others", async () => {
  const { store, commits } = manualStore();
  const state = await openState({ store });
  const first = state.create(draft("first"));
  await settle();
  const writes = Promise.allSettled(["a", "b", "c"].map((id) => state.create(draft(id))));
  commits[0]?.resolve();
  await first;
  await settle();
  const tooLarge = new CodedError("invalidArgument", "Too large");
  commits[1]?.reject(tooLarge);
  for (const [index, outcome] of ["stored", "refused", "stored"].entries()) {
    await settle();
    const commit = commits[index + 2];
    strictEqual(commit?.batch.changes.length, 1);
    if (outcome === "stored") commit.resolve();
    else commit.reject(tooLarge);
  }
  deepStrictEqual((await writes).map(({ status }) => status), [
    "fulfilled",
    "rejected",
    "fulfilled",
  ]);
  deepStrictEqual(state.snapshot(KIND).map(({ metadata }) => metadata.id), ["a", "c", "first"]);
  await state.close();
});

Deno.test("openState() takes no more writes when it is unknown what the store holds", async () => {
  const { store, commits } = manualStore();
  const failures: unknown[] = [];
  const state = await openState({ store, onFailure: (error) => failures.push(error) });
  const writes = [state.create(draft("a"))];
  await settle();
  writes.push(state.create(draft("a")), state.create(draft("b")));
  const broken = new Error("The disk is gone");
  commits[0]?.reject(broken);
  for (const write of writes) await rejects(write, { code: "unavailable" });
  await rejects(state.create(draft("c")), { code: "unavailable" });
  deepStrictEqual(failures, [broken]);
  deepStrictEqual(await state.list(KIND), []);
  await state.close();
});

Deno.test("close() finishes the writes on their way and refuses others", async () => {
  const { store, commits } = manualStore();
  const state = await openState({ store });
  const write = state.create(draft("a"));
  await settle();
  const closing = state.close();
  await rejects(state.create(draft("b")), { code: "unavailable" });
  commits[0]?.resolve();
  await write;
  await closing;
});

Deno.test("close() ends all watches", async () => {
  const state = await openState({ store: openMemoryStore() });
  const { signal } = new AbortController();
  const watch = await state.watchKind(KIND, { signal });
  const ended = (async () => {
    for await (const _ of watch);
  })();
  strictEqual(state.watchCount(), 1);
  await state.close();
  await ended;
  strictEqual(state.watchCount(), 0);
  await rejects(state.watchKind(KIND, { signal }), { code: "unavailable" });
});

Deno.test("a watch that is not read is cut with an overrun", async () => {
  const state = await openState({ store: openMemoryStore(), history: { events: 200 } });
  const { signal } = new AbortController();
  const slow = await state.watchKind(KIND, { signal });
  const quick = await state.watchKind(KIND, { signal });
  const iterator = quick[Symbol.asyncIterator]();
  let resource = await state.create(draft("a"));
  for (let i = 0; i < 300; i++) {
    await iterator.next();
    resource = await state.update(changed(resource));
  }
  const seen: StateEvent[] = [];
  for await (const events of slow) seen.push(...events);
  deepStrictEqual(seen.map(({ type }) => type), ["errored"]);
  ok(seen[0]?.error?.includes("overrun"));
  strictEqual(state.watchCount(), 1);
  await iterator.return?.();
  await state.close();
});

Deno.test("a watch of one resource is not overrun by changes of others", async () => {
  const state = await openState({ store: openMemoryStore(), history: { events: 128 } });
  const { signal } = new AbortController();
  const watch = (await state.watch(ref("quiet"), { signal }))[Symbol.asyncIterator]();
  strictEqual((await watch.next()).value?.[0]?.type, "destroyed");
  const next = watch.next();
  let busy = await state.create(draft("busy"));
  for (let i = 0; i < 300; i++) busy = await state.update(changed(busy));
  await state.create(draft("quiet"));
  deepStrictEqual((await next).value?.map(brief), ["created quiet v1"]);
  await watch.return?.();
  await state.close();
});

Deno.test("resourceCounts() counts by namespace", async () => {
  const state = await openState({ store: openMemoryStore() });
  await state.create(draft("a"));
  await state.create(draft("b"));
  await state.create(draft("a", "", { namespace: "other" }));
  await state.destroy(ref("b"));
  deepStrictEqual([...state.resourceCounts()], [["default", 1], ["other", 1]]);
  deepStrictEqual(state.snapshot(KIND).map(({ metadata }) => metadata.id), ["a"]);
  await state.close();
});

Deno.test("openState() forgets a kind that was only watched, unless a write to it is on its way", async () => {
  const { store, commits } = manualStore();
  const state = await openState({ store });
  const watch = async (): Promise<AbortController> => {
    const end = new AbortController();
    await state.watchKind(KIND, { signal: end.signal });
    await state.watch(ref("a"), { signal: end.signal });
    return end;
  };
  (await watch()).abort();
  deepStrictEqual(state.kinds(), []);
  const end = await watch();
  const write = state.create(draft("a"));
  await settle();
  end.abort();
  commits[0]?.resolve();
  await write;
  ok(state.peek(ref("a")) !== undefined);
  await state.close();
});

Deno.test("openState() forgets a kind whose watch or whose first write is refused", async () => {
  const { signal } = new AbortController();
  const bookmark = new Uint8Array(3);
  const refused = draft("a", "", { owner: "somebody" });
  const { store } = manualStore();
  for (const state of [await openState({ store: openMemoryStore() }), await openState({ store })]) {
    await rejects(state.watchKind(KIND, { signal, idRegexp: "(" }));
    await rejects(state.watchKind(KIND, { signal, startFromBookmark: bookmark }));
    await rejects(state.watch(ref("a"), { signal, startFromBookmark: bookmark }));
    deepStrictEqual(state.kinds(), []);
    await state.watchKind(KIND, { signal: AbortSignal.abort() });
    await state.watch(ref("a"), { signal: AbortSignal.abort() });
    deepStrictEqual(state.kinds(), []);
    await rejects(state.create(refused, { owner: "another" }), { code: "ownerConflict" });
    deepStrictEqual(state.kinds(), []);
    await state.close();
    await rejects(state.watchKind(KIND, { signal }), { code: "unavailable" });
    await rejects(state.watch(ref("a"), { signal }), { code: "unavailable" });
    await rejects(state.create(draft("a")));
    deepStrictEqual(state.kinds(), []);
  }
});
