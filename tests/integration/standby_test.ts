// SPDX-License-Identifier: AGPL-3.0-or-later

import { strictEqual } from "node:assert/strict";
import { startEtcd } from "../../cosi/store/etcd_child.ts";
import { endChild } from "../child_process.ts";
import { hasProgram } from "../compat/lab_server.ts";
import { freeTcpPort, within } from "./server_process.ts";

const ROOT = new URL("../..", import.meta.url).pathname;

const MISSING_ETCD = hasProgram("etcd", "--version") ? "" : " (skipped: etcd is not installed)";

const DEADLINE_MS = 60_000;

interface Running extends AsyncDisposable {
  readonly port: number;
  readonly child: Deno.ChildProcess;
}

/** A server without a tunnel: two of them on one host would want one UDP port. */
async function startServer(directory: string, etcd: string, key: string): Promise<Running> {
  const [port, provision] = [freeTcpPort(), freeTcpPort()];
  const path = `${directory}/${port}.yaml`;
  await Deno.writeTextFile(
    path,
    `
machineApiAdvertisedUrl: grpc://127.0.0.1:${provision}
api: {bindAddress: "127.0.0.1:${port}"}
siderolink: {bindAddress: "127.0.0.1:${provision}", allowLocalAdvertised: true}
wireguard: {enabled: false, advertisedEndpoint: "127.0.0.1:50180"}
state: {kind: etcd, etcd: {endpoints: ["${etcd}"]}, key: {env: BATUTA_STATE_KEY}}
`,
  );
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", "main.ts", "serve", "--config", path],
    cwd: ROOT,
    env: { BATUTA_STATE_KEY: key, DENO_NO_UPDATE_CHECK: "1" },
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
  return {
    port,
    child,
    [Symbol.asyncDispose]: async () => {
      await endChild(child, "SIGKILL");
    },
  };
}

async function ask({ port }: Running, path: string): Promise<{ status: number; text: string }> {
  try {
    const reply = await fetch(`http://127.0.0.1:${port}${path}`);
    return { status: reply.status, text: await reply.text() };
  } catch {
    return { status: 0, text: "" };
  }
}

Deno.test({
  name:
    `of two servers on one etcd one serves and the other stands by until it takes over${MISSING_ETCD}`,
  ignore: MISSING_ETCD !== "",
  fn: async () => {
    const directory = await Deno.makeTempDir();
    const etcd = await startEtcd({ dataDirectory: `${directory}/etcd` });
    const key = crypto.getRandomValues(new Uint8Array(32)).toBase64();
    try {
      await using first = await startServer(directory, etcd.endpoint, key);
      await within(
        DEADLINE_MS,
        "the first is ready",
        async () => (await ask(first, "/readyz")).status === 200,
      );
      await using second = await startServer(directory, etcd.endpoint, key);
      await within(DEADLINE_MS, "the second says that it stands by", async () => {
        const { status, text } = await ask(second, "/readyz");
        return status === 503 && text.includes("standing by");
      });
      strictEqual((await ask(second, "/healthz")).status, 200);

      first.child.kill("SIGKILL");
      await within(
        DEADLINE_MS,
        "the second is ready",
        async () => (await ask(second, "/readyz")).status === 200,
      );

      // A third one can be stopped while it stands by.
      await using third = await startServer(directory, etcd.endpoint, key);
      await within(
        DEADLINE_MS,
        "the third says that it stands by",
        async () => (await ask(third, "/readyz")).text.includes("standing by"),
      );
      third.child.kill("SIGTERM");
      strictEqual((await third.child.status).code, 0);
    } finally {
      await etcd.close();
      await Deno.remove(directory, { recursive: true });
    }
  },
});
