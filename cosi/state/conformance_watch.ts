// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The part of the suite about watches and queries.
 *
 * @module
 */

import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import {
  brief,
  changed,
  type ConformanceCase,
  draft,
  eachEvent,
  KIND,
  nextEvents,
  ref,
  rejectsWith,
} from "./conformance.ts";
import type { LabelOp, LabelQuery } from "./label_query.ts";
import type { State, StateEvent, WatchKindOptions, WatchOptions } from "./state.ts";

/** Runs with the events of a watch and ends it. */
async function watching<T>(
  open: (signal: AbortSignal) => Promise<AsyncIterable<readonly StateEvent[]>>,
  run: (events: AsyncGenerator<StateEvent, undefined>) => Promise<T>,
): Promise<T> {
  const end = new AbortController();
  const events = eachEvent(await open(end.signal));
  try {
    return await run(events);
  } finally {
    end.abort();
    await events.return(undefined);
  }
}

function watchOne<T>(
  state: State,
  id: string,
  run: (events: AsyncGenerator<StateEvent, undefined>) => Promise<T>,
  options: Omit<WatchOptions, "signal"> = {},
): Promise<T> {
  return watching((signal) => state.watch(ref(id), { ...options, signal }), run);
}

function watchAll<T>(
  state: State,
  run: (events: AsyncGenerator<StateEvent, undefined>) => Promise<T>,
  options: Omit<WatchKindOptions, "signal"> = {},
): Promise<T> {
  return watching((signal) => state.watchKind(KIND, { ...options, signal }), run);
}

/** Create, two updates, teardown, destroy of one ID. */
async function live(state: State, id: string): Promise<void> {
  const one = await state.create(draft(id, "1"));
  const two = await state.update(changed(one));
  await state.update(changed(two, { labels: { n: "3" } }));
  await state.teardown(ref(id));
  await state.destroy(ref(id));
}

const LIFE = [
  "created a v1",
  "updated a v2 from v1",
  "updated a v3 from v2",
  "updated a v4 from v3",
  "destroyed a v4",
];

async function single(state: State): Promise<void> {
  await watchOne(state, "a", async (events) => {
    const [initial] = await nextEvents(events, 1);
    ok(initial !== undefined);
    strictEqual(brief(initial), "destroyed a v0");
    strictEqual(initial.resource.metadata.phase, "running");
    await state.create(draft("b"));
    await live(state, "a");
    const seen = await nextEvents(events, 5);
    deepStrictEqual(seen.map(brief), LIFE);
    strictEqual(seen[4]?.resource.metadata.phase, "tearingDown");
    strictEqual(seen[3]?.old?.metadata.phase, "running");
  });
  await watchOne(state, "b", async (events) => {
    deepStrictEqual((await nextEvents(events, 1)).map(brief), ["created b v1"]);
  });
}

async function kindBootstrap(state: State): Promise<void> {
  await watchAll(state, async (events) => {
    const [noop] = await nextEvents(events, 1);
    strictEqual(noop?.type, "noop");
    ok((noop.bookmark?.length ?? 0) > 0);
  }, { bootstrapBookmark: true });
  await state.create(draft("b"));
  await state.create(draft("a"));
  await watchAll(state, async (events) => {
    const first = await nextEvents(events, 4);
    deepStrictEqual(first.map(brief), [
      "created a v1",
      "created b v1",
      "bootstrapped  v0",
      "noop  v0",
    ]);
    deepStrictEqual(first.map(({ bookmark }) => bookmark !== undefined), [
      false,
      false,
      true,
      true,
    ]);
    await state.create(draft("c"));
    deepStrictEqual((await nextEvents(events, 1)).map(brief), ["created c v1"]);
  }, { bootstrapContents: true, bootstrapBookmark: true });
  await watchAll(state, async (events) => {
    await state.create(draft("d"));
    deepStrictEqual((await nextEvents(events, 1)).map(brief), ["created d v1"]);
  });
}

async function wholeBootstrapAtOnce(state: State): Promise<void> {
  for (let i = 0; i < 20; i++) await state.create(draft(`r${String(i).padStart(2, "0")}`));
  const end = new AbortController();
  const watch = await state.watchKind(KIND, { bootstrapContents: true, signal: end.signal });
  for await (const events of watch) {
    strictEqual(events.length, 21);
    break;
  }
  end.abort();
}

async function tails(state: State): Promise<void> {
  await state.create(draft("b"));
  await live(state, "a");
  await watchAll(state, async (events) => {
    deepStrictEqual((await nextEvents(events, 6)).map(brief), ["created b v1", ...LIFE]);
  }, { tailEvents: 1000 });
  await watchAll(state, async (events) => {
    deepStrictEqual((await nextEvents(events, 2)).map(brief), LIFE.slice(-2));
  }, { tailEvents: 2 });
  await state.create(draft("c"));
  await watchOne(state, "a", async (events) => {
    deepStrictEqual((await nextEvents(events, 3)).map(brief), LIFE.slice(-3));
  }, { tailEvents: 3 });
}

async function bookmarks(state: State): Promise<void> {
  const start = await watchAll(state, (events) => nextEvents(events, 1), {
    bootstrapBookmark: true,
  });
  const seen = await watchAll(state, async (events) => {
    await live(state, "a");
    return await nextEvents(events, 5);
  });
  for (const [index, { bookmark }] of [...start, ...seen].entries()) {
    if (bookmark === undefined) throw new Error("An event has no bookmark");
    const rest = LIFE.slice(index);
    const check = async (events: AsyncGenerator<StateEvent, undefined>): Promise<void> => {
      deepStrictEqual((await nextEvents(events, rest.length)).map(brief), rest);
    };
    await watchAll(state, check, { startFromBookmark: bookmark });
    await watchOne(state, "a", check, { startFromBookmark: bookmark });
    const broken = bookmark.slice();
    broken[0] = (broken[0] ?? 0) ^ 0xff;
    const { signal } = new AbortController();
    for (const startFromBookmark of [broken, broken.slice(1), new Uint8Array(0)]) {
      const options = { startFromBookmark, signal };
      await rejectsWith(state.watchKind(KIND, options), "failedPrecondition");
      await rejectsWith(state.watch(ref("a"), options), "failedPrecondition");
    }
  }
  const { signal } = new AbortController();
  const startFromBookmark = start[0]?.bookmark ?? new Uint8Array();
  for (const other of [{ tailEvents: 1 }, { bootstrapContents: true }]) {
    await rejectsWith(
      state.watchKind(KIND, { startFromBookmark, ...other, signal }),
      "invalidArgument",
    );
  }
  await rejectsWith(
    state.watchKind(KIND, { bootstrapContents: true, tailEvents: 1, signal }),
    "invalidArgument",
  );
}

async function filtered(state: State): Promise<void> {
  const query = [term("color", "equal", ["red"])];
  const first = await state.create(draft("a", "", { labels: { color: "red" } }));
  await state.create(draft("b", "", { labels: { color: "blue" } }));
  await watchAll(state, async (events) => {
    deepStrictEqual((await nextEvents(events, 2)).map(brief), ["created a v1", "bootstrapped  v0"]);
    const second = await state.update(changed(first, { labels: { color: "red", x: "" } }));
    const third = await state.update(changed(second, { labels: { color: "blue" } }));
    await state.update(changed(third, { labels: { color: "green" } }));
    const last = await state.get(ref("a"));
    await state.update(changed(last, { labels: { color: "red" } }));
    await state.destroy(ref("b"));
    await state.destroy(ref("a"));
    const seen = await nextEvents(events, 4);
    deepStrictEqual(seen.map(brief), [
      "updated a v2 from v1",
      "destroyed a v3",
      "created a v5",
      "destroyed a v5",
    ]);
  }, { labelQueries: query, bootstrapContents: true });
  await watchAll(state, async (events) => {
    await state.create(draft("other"));
    await state.create(draft("web-1"));
    deepStrictEqual((await nextEvents(events, 1)).map(brief), ["created web-1 v1"]);
  }, { idRegexp: "^web-[0-9]$" });
}

function term(key: string, op: LabelOp, values: string[] = [], invert = false): LabelQuery {
  return { terms: [{ key, op, values, invert }] };
}

async function queries(state: State): Promise<void> {
  const resources: Record<string, Record<string, string>> = {
    a: { app: "web", size: "10kg", tier: "1" },
    b: { app: "db", size: "12000" },
    c: { app: "db", size: "large", tier: "" },
    d: {},
  };
  for (const [id, labels] of Object.entries(resources)) {
    await state.create(draft(id, "", { labels }));
  }
  const cases: readonly (readonly [readonly LabelQuery[], string])[] = [
    [[], "abcd"],
    [[{ terms: [] }], "abcd"],
    [[term("tier", "exists")], "ac"],
    [[term("tier", "exists", [], true)], "bd"],
    [[term("app", "equal", ["db"])], "bc"],
    [[term("app", "equal", ["db"], true)], "ad"],
    [[term("app", "in", ["db", "web", "x"])], "abc"],
    [[term("app", "in", ["web"], true)], "bcd"],
    [[term("app", "lt", ["web"])], "bc"],
    [[term("app", "lt", ["web"], true)], "a"],
    [[term("app", "lte", ["web"])], "abc"],
    [[term("size", "ltNumeric", ["12000"])], "a"],
    [[term("size", "ltNumeric", ["12000"], true)], "b"],
    [[term("size", "lteNumeric", ["12k"])], "ab"],
    [[term("size", "lteNumeric", ["1Ki"])], ""],
    [[term("tier", "equal", ["1"]), term("app", "equal", ["db"])], "abc"],
    [[{ terms: [...term("app", "equal", ["db"]).terms, ...term("tier", "exists").terms] }], "c"],
    [[term("none", "equal", ["x"])], ""],
  ];
  for (const [labelQueries, expected] of cases) {
    const found = await state.list(KIND, { labelQueries });
    strictEqual(
      found.map(({ metadata }) => metadata.id).join(""),
      expected,
      JSON.stringify(labelQueries),
    );
  }
  strictEqual((await state.list(KIND, { idRegexp: "[bc]" })).length, 2);
  strictEqual(
    (await state.list(KIND, { idRegexp: "b", labelQueries: [term("app", "equal", ["web"])] }))
      .length,
    0,
  );
  await rejectsWith(state.list(KIND, { idRegexp: "(" }), "invalidArgument");
  await rejectsWith(state.list(KIND, { idRegexp: "(?=x)" }), "invalidArgument");
}

/** The cases about watches and queries. */
export const WATCH_CASES: readonly ConformanceCase[] = [
  { name: "watch() follows one resource", run: single },
  { name: "watchKind() bootstraps and goes on", run: kindBootstrap },
  { name: "watchKind() gives the whole bootstrap as one item", run: wholeBootstrapAtOnce },
  { name: "a watch begins with tail events", run: tails },
  { name: "a watch goes on from any bookmark and refuses others", run: bookmarks },
  { name: "a filtered watch sees resources enter and leave", run: filtered },
  { name: "list() selects by labels and ID", run: queries },
];
