// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Machines under test: started, brought to a state, ended.
 *
 * @module
 */

import assert from "node:assert/strict";
import { codeOf, type ErrorCode, formatError } from "../base/errors.ts";
import { type Logger, silentLogger } from "../base/log.ts";
import {
  ApplyConfigurationRequest_Mode as Mode,
  MachineService,
} from "../proto/gen/talos/machine_pb.ts";
import { type Client, createClient } from "../rpc/client.ts";
import { type EmulatedMachine, type MachineView, PART_FAILED, startMachine } from "./machine.ts";
import type { MachineOptions } from "./machine_options.ts";
import { startTestServer, type TestServer } from "./testing.ts";
import type { TestCluster } from "./testing_cluster.ts";

/** Longest time that a state may take to come. */
const DEADLINE_MS = 20_000;

/** Runs a test with a server and `count` machines of one world, and ends them all. */
export async function withMachines(
  count: number,
  options: Partial<MachineOptions>,
  run: (server: TestServer, machines: EmulatedMachine[]) => Promise<void>,
): Promise<void> {
  const server = await startTestServer();
  const machines: EmulatedMachine[] = [];
  const failures: string[] = [];
  const log: Logger = {
    ...silentLogger,
    // A part that fails is started again, so that nothing but this line would tell.
    warn: (message, { id, error } = {}) => {
      if (message === PART_FAILED) failures.push(`${id}: ${formatError(error)}`);
    },
  };
  try {
    for (let index = 0; index < count; index++) {
      machines.push(startMachine({
        kernelArgs: server.kernelArgs,
        bindAddress: "127.0.0.1",
        log,
        ...options,
      }));
    }
    await run(server, machines);
    assert.deepEqual(failures, []);
  } finally {
    await Promise.all(machines.map((machine) => machine.close()));
    await server.close();
  }
}

/** The same with one machine. */
export function withMachine(
  options: Partial<MachineOptions>,
  run: (server: TestServer, machine: EmulatedMachine) => Promise<void>,
): Promise<void> {
  return withMachines(1, options, async (server, [machine]) => {
    if (machine !== undefined) await run(server, machine);
  });
}

/** Waits until a machine is in the tunnel and looks as asked for; returns its address. */
export async function reach(
  machine: EmulatedMachine,
  condition: (view: MachineView) => boolean,
): Promise<string> {
  await machine.until(
    (view) => view.address !== "" && condition(view),
    AbortSignal.timeout(DEADLINE_MS),
  );
  return machine.view().address;
}

/** The API of a machine that is in maintenance. */
export async function maintenanceApi(
  server: TestServer,
  machine: EmulatedMachine,
): Promise<Client<typeof MachineService>> {
  const address = await reach(machine, ({ stage }) => stage === "maintenance");
  return createClient(MachineService, await server.connect(address));
}

/** The API of a configured machine, for a client with a role. */
export async function configuredApi(
  server: TestServer,
  machine: EmulatedMachine,
  cluster: TestCluster,
  role = "os:admin",
): Promise<Client<typeof MachineService>> {
  const address = await reach(machine, ({ services }) => services.apid === "Running");
  const channel = await server.connect(address, await cluster.talosCredentials(role));
  return createClient(MachineService, channel);
}

/** Makes a machine a control plane that waits to be bootstrapped; returns its API. */
export async function configure(
  server: TestServer,
  machine: EmulatedMachine,
  cluster: TestCluster,
): Promise<Client<typeof MachineService>> {
  const maintenance = await maintenanceApi(server, machine);
  const data = encode(cluster.config("controlplane"));
  await maintenance.applyConfiguration({ data, mode: Mode.AUTO });
  await reach(machine, ({ services }) => services.etcd !== undefined);
  return await configuredApi(server, machine, cluster);
}

/** Whether an error has a code, for `assert.rejects`. */
export function failsWith(code: ErrorCode): (error: unknown) => boolean {
  return (error) => codeOf(error) === code;
}

/** The bytes of a text. */
export function encode(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}
