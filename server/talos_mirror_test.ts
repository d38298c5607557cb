// SPDX-License-Identifier: AGPL-3.0-or-later

import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { systemClock } from "../base/clock.ts";
import { silentLogger } from "../base/log.ts";
import { openState } from "../cosi/state/core.ts";
import { openMemoryStore } from "../cosi/store/memory.ts";
import { TalosVersion } from "../resources/mirror/version.ts";
import type { TalosVersionAnswer } from "../talos/api.ts";
import type { TalosSession } from "../talos/session.ts";
import type { TalosTarget } from "../talos/target.ts";
import { createTalosMirror } from "./talos_mirror.ts";

const TARGET: TalosTarget = { machineId: "m", address: "fdae::2", boot: "boot-1" };
const ANSWER: TalosVersionAnswer = { tag: "v1.12.10", arch: "amd64", platform: "metal" };

/** A mirror of machines that have nothing but a version, which they tell when they are asked to. */
async function startFixture() {
  const state = await openState({ store: openMemoryStore() });
  const opened: string[] = [];
  const answers: PromiseWithResolvers<TalosVersionAnswer>[] = [];
  const news = { arrived: Promise.withResolvers<void>() };
  const notify = (): void => {
    news.arrived.resolve();
    news.arrived = Promise.withResolvers();
  };
  const machineState = { list: async function* () {} } as unknown as TalosSession["state"];
  const mirror = createTalosMirror({
    state,
    sessions: {
      open: ({ boot }) => {
        opened.push(boot);
        return { machine: {} as TalosSession["machine"], state: machineState };
      },
      close: () => {},
      closeAll: () => {},
    },
    talos: {
      version: () => {
        const answer = Promise.withResolvers<TalosVersionAnswer>();
        answers.push(answer);
        notify();
        return answer.promise;
      },
    },
    kinds: [{ namespace: "runtime", type: TalosVersion.type }],
    clock: systemClock,
    log: silentLogger,
  });
  const stop = new AbortController();
  const told: string[] = [];
  const observing = (async () => {
    for await (const observation of mirror.observe({ signal: stop.signal })) {
      if (observation.kind !== "observed") continue;
      const { boot, connected } = observation.value;
      told.push(`${boot} ${connected ? "up" : "down"}`);
      notify();
    }
  })();
  return {
    mirror,
    opened,
    told,
    answer: (index: number) => answers[index]?.resolve(ANSWER),
    until: async (isTrue: () => boolean) => {
      while (!isTrue()) await news.arrived.promise;
    },
    asked: () => answers.length,
    [Symbol.asyncDispose]: async () => {
      for (const { resolve } of answers) resolve(ANSWER);
      await mirror.close();
      stop.abort();
      await observing;
      await state.close();
    },
  };
}

Deno.test("a session that was given up tells nothing any more", async () => {
  await using fixture = await startFixture();
  const { mirror, told, opened } = fixture;
  mirror.follow(TARGET);
  await fixture.until(() => fixture.asked() === 1);
  mirror.pause(TARGET.machineId);
  mirror.follow(TARGET);
  // The new session waits for the old one, which is still writing what it has read.
  deepStrictEqual(opened, ["boot-1"]);
  fixture.answer(0);
  await fixture.until(() => fixture.asked() === 2);
  strictEqual(told.includes("boot-1 up"), false);
  fixture.answer(1);
  await fixture.until(() => told.at(-1) === "boot-1 up");
});

Deno.test("a machine in a new boot is not connected until it has told everything anew", async () => {
  await using fixture = await startFixture();
  const { mirror, told } = fixture;
  mirror.follow(TARGET);
  await fixture.until(() => fixture.asked() === 1);
  fixture.answer(0);
  await fixture.until(() => told.at(-1) === "boot-1 up");
  mirror.follow({ ...TARGET, boot: "boot-2" });
  await fixture.until(() => fixture.asked() === 2);
  await fixture.until(() => told.at(-1) === "boot-2 down");
  fixture.answer(1);
  await fixture.until(() => told.at(-1) === "boot-2 up");
});
