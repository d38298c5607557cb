// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The real program over a TUN interface: `main.ts serve` with the flags of its task, in a network
 * namespace of its own, and a machine on Debian's wireguard-go in a second one.
 *
 * @module
 */

import assert from "node:assert/strict";
import { SERVER_ADDRESS } from "../../link/addresses.ts";
import { generateKey } from "../../link/keys.ts";
import { compile } from "../../scripts/compile.ts";
import { EVENTS_PORT } from "../../server/tunnel_ports.ts";
import { endChild } from "../child_process.ts";
import { JOIN_TOKEN, within } from "./server_process.ts";
import { isPossible, note, type Peer, withPeer, withServerNamespace } from "./wireguard_go.ts";

const ROOT = new URL("../..", import.meta.url).pathname;
const MACHINE_PROGRAM = new URL("./serve_tun_machine.ts", import.meta.url).pathname;
const UUID = "4c4c4544-0039-4810-8052-b4c04f384833";
const DEADLINE_MS = 60_000;

// Both namespaces are of one test, so no port can be taken.
const API = "127.0.0.1:8080";
const PROVISION_PORT = 8090;
const UDP_PORT = 50_180;

type InNamespace = (...args: string[]) => Deno.Command;

function inNamespace(name: string): InNamespace {
  return (...args) =>
    new Deno.Command("ip", {
      args: ["netns", "exec", name, ...args],
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    });
}

const canTun = isPossible && await Deno.stat("/dev/net/tun").then(() => true, () => false);

/** The program from source, with the flags of `deno task serve`. */
async function fromSource(): Promise<string[]> {
  const { tasks } = JSON.parse(await Deno.readTextFile(`${ROOT}/deno.json`));
  const flags = /deno run (.*) main\.ts serve$/.exec(tasks.serve)?.[1];
  assert.ok(flags !== undefined, `Cannot read the flags of task "serve": "${tasks.serve}"`);
  return [Deno.execPath(), "run", ...flags.split(" "), "--no-check", `${ROOT}/main.ts`];
}

/** The program as one file, with the flags that are baked in. */
async function packed(directory: string): Promise<string[]> {
  const out = `${directory}/batuta`;
  await compile({ main: `${ROOT}/main.ts`, out, way: "pack" });
  return [out];
}

function configuration(directory: string, peer: Peer, mode: string): string {
  return JSON.stringify({
    machineApiAdvertisedUrl: `grpc://${peer.hostAddress}:${PROVISION_PORT}`,
    api: { bindAddress: API },
    siderolink: {
      bindAddress: `0.0.0.0:${PROVISION_PORT}`,
      initialJoinToken: JOIN_TOKEN,
      allowLocalAdvertised: true,
    },
    wireguard: {
      mode,
      port: UDP_PORT,
      advertisedEndpoint: `${peer.hostAddress}:${UDP_PORT}`,
    },
    state: { kind: "memory" },
    machineStore: { path: `${directory}/machines.sqlite` },
  });
}

async function outputOf(command: Deno.Command): Promise<string> {
  const { success, stdout, stderr } = await command.output();
  assert.ok(success, new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout);
}

/** What the program's own client prints in the server's namespace. */
function ctl(inServer: InNamespace, ...args: string[]): Promise<string> {
  return outputOf(inServer(
    ...[Deno.execPath(), "run", "-A", "--no-check", `${ROOT}/main.ts`, "ctl", ...args],
    ...["--endpoint", `http://${API}`],
  ));
}

/** Runs the server until the test is over; returns what it logged. */
async function withServer(
  inServer: InNamespace,
  peer: Peer,
  mode: string,
  program: (directory: string) => Promise<string[]>,
  use: () => Promise<void>,
): Promise<string> {
  const directory = await Deno.makeTempDir();
  const config = `${directory}/batuta.json`;
  await Deno.writeTextFile(config, configuration(directory, peer, mode));
  const child = inServer(...await program(directory), "serve", "--config", config).spawn();
  const output = child.stdout.cancel();
  let logged = "";
  const reading = (async () => {
    for await (const text of child.stderr.pipeThrough(new TextDecoderStream())) logged += text;
  })();
  const over = child.status.then(({ code }) => {
    throw new Error(`The server ended with code ${code}:\n${logged}`);
  });
  over.catch(() => {});
  try {
    const ready = within(DEADLINE_MS, "server is ready", () => /server started/.test(logged));
    await Promise.race([ready, over]);
    await Promise.race([use(), over]);
    return logged;
  } finally {
    await Promise.all([endChild(child), reading, output]);
    await Deno.remove(directory, { recursive: true });
  }
}

/** What the machine's program prints in its namespace. */
function machineOutput(peer: Peer, ...args: string[]): Promise<string> {
  return outputOf(peer.inside(
    ...[Deno.execPath(), "run", "-A", "--no-check", "--config", `${ROOT}/deno.json`],
    ...[MACHINE_PROGRAM, ...args],
  ));
}

/** The machine joins, comes over its tunnel, and what it reports is there. */
async function joinAndReport(inServer: InNamespace, peer: Peer, publicKey: string): Promise<void> {
  const machine = (...args: string[]): Promise<string> => machineOutput(peer, ...args);
  const endpoint = `${peer.hostAddress}:${PROVISION_PORT}`;
  const reply = JSON.parse(await machine("join", endpoint, JOIN_TOKEN, UUID, publicKey));
  await peer.setAddress(reply.address);
  await peer.set(
    ...["peer", reply.serverPublicKey, "allowed-ips", `${SERVER_ADDRESS}/128`],
    ...["endpoint", `${peer.hostAddress}:${UDP_PORT}`, "persistent-keepalive", "25"],
  );
  await machine("report", SERVER_ADDRESS, "a line over TUN");
  assert.match(await ctl(inServer, "get", "machinestatussnapshots", UUID, "-o", "yaml"), /stage/);
  await within(DEADLINE_MS, "the line of kernel log is stored", async () => {
    return /a line over TUN/.test(await ctl(inServer, "logs", UUID));
  });
}

/** No port of the server, and the first of the clusters' balancers. */
const OTHER_PORT = 9999;
const BALANCER_PORT = 10_000;

/** The machine opens connections to the server and its balancers, and to nothing else of the host. */
async function reachesNothingElse(inServer: InNamespace, peer: Peer): Promise<void> {
  const source = `
    const serve = async (port) => {
      for await (const connection of Deno.listen({ hostname: "::", port })) connection.close();
    };
    serve(${OTHER_PORT});
    serve(${BALANCER_PORT});
    console.log("listening");`;
  const other = inServer(Deno.execPath(), "eval", source).spawn();
  try {
    const reader = other.stdout.getReader();
    assert.match(new TextDecoder().decode((await reader.read()).value), /listening/);
    reader.releaseLock();
    const probe = (port: number): Promise<string> =>
      machineOutput(peer, "probe", SERVER_ADDRESS, String(port));
    assert.equal(await probe(EVENTS_PORT), "open\n");
    assert.equal(await probe(BALANCER_PORT), "open\n");
    assert.equal(await probe(OTHER_PORT), "closed\n");
  } finally {
    await Promise.all([endChild(other, "SIGKILL"), other.stdout.cancel(), other.stderr.cancel()]);
  }
}

const RUNS = [
  ["from source in mode auto", "auto", fromSource],
  ["from source in mode tun", "tun", fromSource],
  ["packed in mode auto", "auto", packed],
] as const;

for (const [how, mode, program] of RUNS) {
  Deno.test({
    name: `serve ${how} reaches a machine over a TUN interface${note}`,
    // The packer makes executables for one platform.
    ignore: !canTun || (program === packed && Deno.build.target !== "x86_64-unknown-linux-gnu"),
    fn: async () => {
      const machine = generateKey();
      await withPeer(machine, (peer) =>
        withServerNamespace(peer, async (_, namespace) => {
          const inServer = inNamespace(namespace);
          const logged = await withServer(inServer, peer, mode, program, async () => {
            const links = await outputOf(inServer("ip", "-6", "addr", "show", "siderolink"));
            assert.match(links, new RegExp(`${SERVER_ADDRESS}/64`));
            await joinAndReport(inServer, peer, machine.publicKey);
            await reachesNothingElse(inServer, peer);
          });
          assert.match(logged, /tunnel started over a TUN interface/);
        }));
    },
  });
}

Deno.test({
  name: `serve gives up the C library once its TUN interface stands${note}`,
  ignore: !canTun,
  fn: async () => {
    await withPeer(generateKey(), (peer) =>
      withServerNamespace(peer, async (_, namespace) => {
        const inServer = inNamespace(namespace);
        const directory = await Deno.makeTempDir();
        const config = `${directory}/batuta.json`;
        await Deno.writeTextFile(config, configuration(directory, peer, "tun"));
        const program = new URL("./serve_permissions.ts", import.meta.url).pathname;
        const output = await outputOf(inServer(
          ...[Deno.execPath(), "run", "-A", "--no-check", "--config", `${ROOT}/deno.json`],
          ...[program, config, API],
        ));
        await Deno.remove(directory, { recursive: true });
        assert.deepEqual(JSON.parse(output), ["env", "net", "read", "sys", "write"]);
      }));
  },
});
