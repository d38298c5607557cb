// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The configuration of the lab's server: everything on loopback, on free ports, in one directory.
 *
 * @module
 */

import { join } from "node:path";
import { CodedError } from "../base/errors.ts";

/** Where a lab keeps what. */
export interface LabPlace {
  readonly directory: string;
  /** Whether the directory is removed in the end. */
  readonly isThrowAway: boolean;
  /** The text of the configuration document. */
  readonly document: string;
}

/** The API's address unless told otherwise, which is also where `batuta ctl` looks. */
export const DEFAULT_API_BIND = "127.0.0.1:8080";

/** The environment variable through which the server gets the key of the state. */
const KEY_VARIABLE = "BATUTA_LAB_STATE_KEY";

/** The Talos of the emulated machines, and the Kubernetes that the example asks for. */
const TALOS_VERSION = "1.12.11";
const KUBERNETES_VERSION = "1.34.1";

/** Prepares a directory and a configuration for it. */
export async function prepareLab(
  { state, apiBind, logLevel }: {
    readonly state: string;
    readonly apiBind?: string;
    readonly logLevel: string;
  },
): Promise<LabPlace> {
  const isThrowAway = state === "memory" || state === "sqlite";
  const directory = isThrowAway ? await Deno.makeTempDir({ prefix: "batuta-lab-" }) : state;
  if (!isThrowAway) await Deno.mkdir(directory, { recursive: true, mode: 0o700 });
  if (state !== "memory") Deno.env.set(KEY_VARIABLE, await stateKey(directory));
  const { provision, tunnel } = isThrowAway ? freePorts() : await keptPorts(directory);
  // JSON is YAML, and quotes whatever a path may hold.
  const document = JSON.stringify({
    machineApiAdvertisedUrl: `grpc://127.0.0.1:${provision}`,
    api: {
      bindAddress: apiBind ?? DEFAULT_API_BIND,
      // Who names another address means it.
      allowPublicBind: apiBind !== undefined,
    },
    siderolink: { bindAddress: `127.0.0.1:${provision}`, allowLocalAdvertised: true },
    wireguard: { mode: "user", port: tunnel, advertisedEndpoint: `127.0.0.1:${tunnel}` },
    state: state === "memory" ? { kind: "memory" } : {
      kind: "sqlite",
      sqlite: { path: join(directory, "state.sqlite") },
      key: { env: KEY_VARIABLE },
    },
    machineStore: { path: join(directory, "machines.sqlite") },
    talosVersions: [{ version: TALOS_VERSION, kubernetes: [KUBERNETES_VERSION] }],
    log: { level: logLevel },
  });
  return { directory, isThrowAway, document };
}

/** The key of the state, made once and kept beside it. */
async function stateKey(directory: string): Promise<string> {
  const path = join(directory, "state.key");
  try {
    return (await Deno.readTextFile(path)).trim();
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    const key = crypto.getRandomValues(new Uint8Array(32)).toBase64();
    await Deno.writeTextFile(path, `${key}\n`, { mode: 0o600, createNew: true });
    return key;
  }
}

/** The ports of a lab; machines remember them, so that a kept lab keeps them. */
interface LabPorts {
  readonly provision: number;
  readonly tunnel: number;
}

function freePorts(): LabPorts {
  return { provision: freeTcpPort(), tunnel: freeUdpPort() };
}

async function keptPorts(directory: string): Promise<LabPorts> {
  const path = join(directory, "ports.json");
  try {
    const kept: Partial<LabPorts> = JSON.parse(await Deno.readTextFile(path));
    const { provision, tunnel } = kept;
    if (Number.isSafeInteger(provision) && Number.isSafeInteger(tunnel)) {
      return { provision: Number(provision), tunnel: Number(tunnel) };
    }
    throw new CodedError("invalidArgument", `Cannot read "${path}": it holds no ports; delete it`);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    const ports = freePorts();
    await Deno.writeTextFile(path, `${JSON.stringify(ports)}\n`, { createNew: true });
    return ports;
  }
}

function freeTcpPort(): number {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  listener.close();
  return listener.addr.port;
}

function freeUdpPort(): number {
  const socket = Deno.listenDatagram({ hostname: "0.0.0.0", port: 0, transport: "udp" });
  socket.close();
  if (socket.addr.transport === "udp") return socket.addr.port;
  throw new CodedError("internal", "Cannot find a free UDP port");
}
