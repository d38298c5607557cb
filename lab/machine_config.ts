// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The configuration in force on a machine.
 *
 * @module
 */

import {
  type ConfigDocument,
  type ConfigFacts,
  configFacts,
  parseDocuments,
} from "../talos/config/documents.ts";
import { MAIN_KIND } from "../talos/config/schema.ts";
import { parseHostPort, parseJoinUrl, parseLogUrl, type ServerAddresses } from "./kernel_args.ts";

/** A configuration with what it says. */
export interface MachineConfig {
  readonly text: string;
  readonly documents: readonly ConfigDocument[];
  readonly facts: ConfigFacts;
  /** Whether it makes the machine a member of a cluster; others leave it in maintenance. */
  readonly isComplete: boolean;
  /** The configuration's own idea of the server, which overrides the kernel arguments. */
  readonly server: ServerAddresses;
}

/**
 * Reads a configuration that was found valid.
 *
 * @throws CodedError `invalidArgument` when an address in it is malformed.
 */
export function readMachineConfig(text: string): MachineConfig {
  const documents = parseDocuments(text);
  const facts = configFacts(documents);
  const main = documents.find(({ kind }) => kind === MAIN_KIND)?.value ?? {};
  return {
    text,
    documents,
    facts,
    isComplete: isTree(main.machine) && isTree(main.cluster),
    server: readServer(facts),
  };
}

function readServer(facts: ConfigFacts): ServerAddresses {
  const { sideroLinkApiUrl, eventSinkEndpoint, kmsgLogUrl } = facts;
  return {
    ...(sideroLinkApiUrl === undefined ? {} : { join: parseJoinUrl(sideroLinkApiUrl) }),
    ...(eventSinkEndpoint === undefined
      ? {}
      : { eventSink: parseHostPort(eventSinkEndpoint, "EventSinkConfig.endpoint") }),
    ...(kmsgLogUrl === undefined ? {} : { kernelLog: parseLogUrl(kmsgLogUrl) }),
  };
}

/** A mapping of unknown shape. */
export type Tree = Readonly<Record<string, unknown>>;

/** Whether a value is a mapping. */
export function isTree(value: unknown): value is Tree {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
