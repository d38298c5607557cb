// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * ApplyConfiguration: what is refused, what takes effect at once and what needs a reboot.
 *
 * @module
 */

import type { MessageInitShape } from "@bufbuild/protobuf";
import { durationMs } from "@bufbuild/protobuf/wkt";
import { CodedError } from "../base/errors.ts";
import {
  type ApplyConfigurationRequest,
  ApplyConfigurationRequest_Mode as Mode,
  type ApplyConfigurationSchema,
} from "../proto/gen/talos/machine_pb.ts";
import { validateConfig } from "../talos/config/validate.ts";
import { type Boot, isConfigured } from "./boot.ts";
import { rebootingChanges, sameConfig } from "./config_change.ts";
import { type MachineConfig, readMachineConfig } from "./machine_config.ts";
import { publishConfig } from "./network.ts";
import { hasFullMaintenanceApi, isRecentTalos } from "./versions.ts";

/** What follows from an accepted request. */
interface ApplyDecision {
  /** The mode that is answered. */
  readonly mode: Mode;
  readonly details: string;
  readonly effect: "none" | "now" | "stage" | "reboot";
}

/** How long a tried configuration stays without another word. */
const DEFAULT_TRY_MS = 60_000;

/** Serves one request. */
export async function applyConfiguration(
  boot: Boot,
  request: ApplyConfigurationRequest,
  actions: { readonly activate: (config: MachineConfig) => void; readonly reboot: () => void },
): Promise<MessageInitShape<typeof ApplyConfigurationSchema>> {
  if (boot.busyWith !== undefined) {
    throw new CodedError(
      "failedPrecondition",
      `another operation is in progress: ${boot.busyWith}`,
    );
  }
  if (boot.end !== undefined || (boot.stage !== "maintenance" && !isConfigured(boot))) {
    throw new CodedError("failedPrecondition", `machine is ${boot.stage}`);
  }
  boot.busyWith = "apply";
  try {
    const { config, warnings } = checkConfig(boot, new TextDecoder().decode(request.data));
    const decision = decideApply(boot, config, request.mode, request.dryRun);
    await boot.core.clock.sleep(boot.core.pace.applyMs, boot.signal);
    boot.signal.throwIfAborted();
    carryOut(boot, config, decision, request, actions);
    return {
      mode: decision.mode,
      modeDetails: decision.details,
      warnings,
    };
  } finally {
    boot.busyWith = undefined;
  }
}

interface CheckedConfig {
  readonly config: MachineConfig;
  readonly warnings: string[];
}

/** Refuses what a machine refuses, with all reasons at once. */
function checkConfig(boot: Boot, text: string): CheckedConfig {
  const findings = validateConfig(text, { talosVersion: boot.version, mode: "metal" });
  const messagesOf = (wanted: "error" | "warning"): string[] =>
    findings.filter(({ severity }) => severity === wanted).map(({ message }) => message);
  const errors = messagesOf("error");
  if (errors.length > 0) {
    const noun = errors.length === 1 ? "error" : "errors";
    const list = errors.map((message) => `\t* ${message}\n`).join("");
    throw new CodedError(
      "invalidArgument",
      `configuration validation failed: ${errors.length} ${noun} occurred:\n${list}\n`,
    );
  }
  const config = readMachineConfig(text);
  if (isConfigured(boot) && !config.isComplete) {
    throw new CodedError("invalidArgument", "a configured machine takes no partial configuration");
  }
  return { config, warnings: messagesOf("warning") };
}

/** Decides what a valid configuration leads to. Pure but for reading the boot. */
function decideApply(
  boot: Boot,
  config: MachineConfig,
  mode: Mode,
  dryRun: boolean,
): ApplyDecision {
  const { version } = boot;
  const current = boot.config;
  const before = isConfigured(boot) ? current : undefined;
  if (before === undefined) return decideInMaintenance(version, mode, dryRun);
  if (mode === Mode.REBOOT && isRecentTalos(version)) {
    throw new CodedError("unimplemented", "applying configuration with a reboot is not supported");
  }
  const rebooting = isRecentTalos(version) ? [] : rebootingChanges(before, config);
  const effective = mode !== Mode.AUTO ? mode : rebooting.length > 0 ? Mode.REBOOT : Mode.NO_REBOOT;
  const needsReboot = rebooting.length > 0 &&
    (effective === Mode.NO_REBOOT || effective === Mode.TRY);
  if (needsReboot) {
    throw new CodedError(
      "invalidArgument",
      `this change can't be applied in immediate mode: it needs a reboot: ${rebooting.join(", ")}`,
    );
  }
  if (dryRun) {
    const summary = sameConfig(before, config) ? "No changes." : "Config diff is not empty.";
    return {
      mode: effective,
      details: `Dry run summary:\nApplied configuration ${
        how(effective)
      } (skipped in dry-run).\n${summary}`,
      effect: "none",
    };
  }
  return {
    mode: effective,
    details: `Applied configuration ${how(effective)}`,
    effect: effective === Mode.REBOOT ? "reboot" : effective === Mode.STAGED ? "stage" : "now",
  };
}

function decideInMaintenance(version: string, mode: Mode, dryRun: boolean): ApplyDecision {
  const accepted = [Mode.REBOOT, Mode.AUTO, Mode.TRY];
  if (!hasFullMaintenanceApi(version) && !accepted.includes(mode)) {
    throw new CodedError(
      "unimplemented",
      `apply configuration ${Mode[mode]?.toLowerCase()} is not supported in maintenance mode`,
    );
  }
  const answered = isRecentTalos(version) ? Mode.NO_REBOOT : Mode.REBOOT;
  return dryRun
    ? {
      mode: answered,
      details:
        "Dry run summary:\nNode is running in maintenance mode and does not have a config yet.",
      effect: "none",
    }
    : { mode: answered, details: "", effect: "now" };
}

function how(mode: Mode): string {
  switch (mode) {
    case Mode.REBOOT:
      return "with a reboot";
    case Mode.STAGED:
      return "to be used after a reboot";
    case Mode.TRY:
      return "in try mode";
    default:
      return "without a reboot";
  }
}

function carryOut(
  boot: Boot,
  config: MachineConfig,
  { effect, mode }: ApplyDecision,
  request: ApplyConfigurationRequest,
  { activate, reboot }: {
    readonly activate: (config: MachineConfig) => void;
    readonly reboot: () => void;
  },
): void {
  const { disk } = boot.core;
  const isInstalled = disk.installation !== undefined;
  switch (effect) {
    case "none":
      return;
    case "stage":
      disk.stagedConfig = config.text;
      return publishConfig(boot);
    case "reboot":
      disk.config = config.text;
      publishConfig(boot);
      return reboot();
    case "now": {
      const previous = boot.config;
      const isTrial = mode === Mode.TRY && previous !== undefined;
      if (isInstalled && !isTrial) disk.config = config.text;
      activate(config);
      if (isTrial) revertLater(boot, config, previous, request, activate);
    }
  }
}

function revertLater(
  boot: Boot,
  tried: MachineConfig,
  previous: MachineConfig,
  { tryModeTimeout }: ApplyConfigurationRequest,
  activate: (config: MachineConfig) => void,
): void {
  const ms = tryModeTimeout === undefined ? DEFAULT_TRY_MS : durationMs(tryModeTimeout);
  void boot.core.clock.sleep(ms, boot.signal).then(() => {
    // Another configuration may have been applied meanwhile; it stays.
    if (!boot.signal.aborted && boot.config === tried) activate(previous);
  });
}
