// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Keeps one session with every connected machine, through which its resources are copied.
 *
 * @module
 */

import { createHash } from "node:crypto";
import {
  type Controller,
  defineController,
  type Plan,
  type Reader,
  wait,
} from "../../cosi/controller.ts";
import type { Resource } from "../../cosi/resource.ts";
import { LABEL_CLUSTER } from "../../resources/labels.ts";
import { Machine } from "../../resources/machine/machine.ts";
import { TalosSession } from "../../resources/talos/talos_session.ts";
import type { TalosTarget } from "../../talos/target.ts";
import {
  gatherTargetFacts,
  TARGET_INPUTS,
  type TargetFacts,
  type TargetInput,
  targetOf,
} from "./target.ts";

/** Follows machines and copies what it sees. */
export interface MirrorPort {
  /** Follows a machine; the same target again changes nothing, another one replaces the session. */
  follow(target: TalosTarget): void;
  /** Stops following; the copies stay as they are. */
  pause(machineId: string): void;
  /** Stops following and removes the copies. */
  forget(machineId: string): Promise<void>;
}

/** What the session must be. */
export type SessionAction =
  | { readonly kind: "follow"; readonly target: TalosTarget }
  | { readonly kind: "pause" };

/** Creates the controller; copies are removed before their Machine may be destroyed. */
export function talosSessionController({ mirror }: { readonly mirror: MirrorPort }): Controller {
  return defineController({
    name: "talos.SessionController",
    primary: Machine,
    mapped: TARGET_INPUTS,
    output: TalosSession,
    gather: (machine, reader: Reader<TargetInput>) =>
      gatherTargetFacts(machine.metadata.id, reader),
    plan: planTalosSession,
    act: (machine, action) => {
      if (action.kind === "follow") mirror.follow(action.target);
      else mirror.pause(machine.metadata.id);
      return Promise.resolve();
    },
    finalize: (machine) => mirror.forget(machine.metadata.id),
  });
}

/** Decides as whom the machine is followed, or that it is not. */
export function planTalosSession(
  machine: Resource<typeof Machine>,
  facts: TargetFacts,
): Plan<typeof TalosSession, SessionAction> {
  if (machine.spec.managementAddress === "") return wait("the machine has no address yet");
  const target = targetOf(machine, facts);
  const isAuthenticated = target.credentials !== undefined;
  return {
    kind: "write",
    action: machine.spec.connected ? { kind: "follow", target } : { kind: "pause" },
    spec: {
      address: target.address,
      cluster: isAuthenticated ? facts.clusterMachine?.metadata.labels[LABEL_CLUSTER] ?? "" : "",
      certificateFingerprint: isAuthenticated ? sha256(target.credentials?.crt ?? "") : "",
    },
  };
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
