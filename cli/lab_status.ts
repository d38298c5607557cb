// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * What a lab shows of its machines and clusters.
 *
 * @module
 */

/** A machine as the server knows it. */
export interface LabMachine {
  readonly id: string;
  readonly hostname: string;
  readonly isConnected: boolean;
  /** In the words of its resources; empty while unknown. */
  readonly stage: string;
  readonly cluster: string;
  /** What went wrong last; while a machine reboots there is always something. */
  readonly error: string;
}

/** A cluster as the server knows it. */
export interface LabCluster {
  readonly id: string;
  readonly phase: string;
  readonly isReady: boolean;
  readonly healthy: number;
  readonly total: number;
}

/** All of it. */
export interface LabStatus {
  readonly machines: readonly LabMachine[];
  readonly clusters: readonly LabCluster[];
}

/** Whether a cluster runs and everything of it is ready. */
export function isRunning({ clusters }: LabStatus, id: string): boolean {
  return clusters.some((cluster) =>
    cluster.id === id && cluster.phase === "running" && cluster.isReady
  );
}

/** Whether this many machines are connected. */
export function haveJoined({ machines }: LabStatus, count: number): boolean {
  return machines.filter(({ isConnected }) => isConnected).length >= count;
}

/** Rows that a table on a terminal may have before the rest is summed up. */
const MAX_ROWS = 15;

/** The table of a moment. */
export function renderTable({ machines, clusters }: LabStatus): string[] {
  const rows = machines.slice(0, MAX_ROWS).map((machine) => [
    machine.id,
    machine.hostname || "-",
    machine.isConnected ? "yes" : "no",
    machine.stage || "-",
    machine.cluster || "-",
  ]);
  const lines = alignColumns([["MACHINE", "HOSTNAME", "CONNECTED", "STAGE", "CLUSTER"], ...rows]);
  const rest = machines.length - rows.length;
  if (rest > 0) lines.push(`and ${rest} more`);
  if (clusters.length > 0) lines.push("", ...clusters.map(describeCluster));
  return lines;
}

/** What changed, one line each, for where nothing can be redrawn. */
export function describeChanges(before: LabStatus, after: LabStatus): string[] {
  const lines: string[] = [];
  for (const machine of after.machines) {
    const old = before.machines.find(({ id }) => id === machine.id);
    const name = `machine ${machine.id}`;
    if (machine.isConnected && old?.isConnected !== true) lines.push(`${name} is connected`);
    if (!machine.isConnected && old?.isConnected === true) lines.push(`${name} is disconnected`);
    if (machine.stage !== "" && machine.stage !== old?.stage) {
      lines.push(`${name} is ${machine.stage}`);
    }
  }
  for (const cluster of after.clusters) {
    const line = describeCluster(cluster);
    const old = before.clusters.find(({ id }) => id === cluster.id);
    if (old === undefined || describeCluster(old) !== line) lines.push(line);
  }
  for (const { id } of before.clusters) {
    if (!after.clusters.some((cluster) => cluster.id === id)) lines.push(`cluster "${id}" is gone`);
  }
  return lines;
}

/** Why a lab is not where it should be, for whoever gave it a time limit. */
export function describeLag({ machines, clusters }: LabStatus, wanted: number): string[] {
  const joined = machines.filter(({ isConnected }) => isConnected).length;
  const lines = clusters.map(describeCluster);
  if (joined < wanted) lines.push(`${joined} of ${wanted} machines are connected`);
  for (const { id, stage, cluster, error } of machines) {
    if (cluster === "" && error === "") continue;
    lines.push(`machine ${id} is ${stage || "unknown"}${error === "" ? "" : `: ${error}`}`);
  }
  return lines;
}

/** What {@linkcode describeNextSteps} depends on. */
export interface NextSteps {
  /** What was reached. */
  readonly done: string;
  /** Absent when the lab has none. */
  readonly cluster?: string;
  readonly machines: number;
  /** How the client is started. */
  readonly ctl: string;
  /** Whether the files of `docs/examples` are at hand. */
  readonly hasExamples: boolean;
  /** Empty when the client finds the server by itself. */
  readonly endpoint: string;
  readonly isThrowAway: boolean;
}

/** What to type once the lab is up. */
export function describeNextSteps(steps: NextSteps): string[] {
  const { done, cluster, machines, ctl, hasExamples, endpoint, isThrowAway } = steps;
  const command = (text: string): string =>
    `  ${ctl} ${text}${endpoint === "" ? "" : ` --endpoint ${endpoint}`}`;
  const apply = (file: string): string => command(`apply -f docs/examples/${file}`);
  const more = cluster === undefined ? hasExamples ? [apply("cluster.yaml")] : [] : [
    command(`get clusterstatuses ${cluster} --watch`),
    ...(hasExamples && machines >= 3 ? [apply("workers.yaml")] : []),
    command(`delete cluster ${cluster}`),
  ];
  return [
    "",
    done,
    "",
    "Look around from another terminal:",
    command("list machines"),
    command("get machinestatuses -o yaml"),
    ...more,
    "",
    `Ctrl-C ends the lab${isThrowAway ? " and throws its state away" : "; its state stays"}.`,
  ];
}

function describeCluster({ id, phase, isReady, healthy, total }: LabCluster): string {
  const ready = isReady ? "ready" : "not ready";
  return `cluster "${id}": ${phase}, ${ready}, ${healthy} of ${total} machines healthy`;
}

function alignColumns(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0))
  );
  return rows.map((row) =>
    row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ").trimEnd()
  );
}
