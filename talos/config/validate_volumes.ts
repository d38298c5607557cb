// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Checks of documents about volumes and file systems.
 *
 * @module
 */

import { parseDuration } from "../../base/duration.ts";
import { celProblem } from "./cel_check.ts";
import {
  addError,
  type Checks,
  type DocumentCheck,
  isTrue,
  pick,
  pickList,
  pickNumber,
  pickText,
  quote,
} from "./checks.ts";
import type { Fields } from "./decode.ts";
import { isEmpty } from "./encode.ts";
import { parseBytes } from "./scalars.ts";
import { documentType } from "./schema.ts";

/** Checks by kind. */
export const VOLUME_CHECKS: Readonly<Record<string, DocumentCheck>> = {
  ExistingVolumeConfig: (checks, value) => {
    checkName(checks, value);
    const match = pickText(value, "discovery.volumeSelector.match");
    if (match === "") addError(checks, "volume selector is required", "discovery.volumeSelector");
    else checkCel(checks, match, "volume selector", "discovery.volumeSelector.match");
    checkMaintenance(checks, value);
  },
  ExternalVolumeConfig: (checks, value) => {
    checkName(checks, value, MAX_NAME_LENGTH);
    const filesystem = pickText(value, "filesystemType");
    if (filesystem !== "virtiofs") {
      addError(checks, `invalid filesystem type: ${filesystem || "none"}`, "filesystemType");
    } else if (pick(value, "mount.virtiofs") === undefined) {
      addError(checks, "virtiofs mount spec is required", "mount.virtiofs");
    } else if (pickText(value, "mount.virtiofs.tag") === "") {
      addError(checks, "virtiofs tag is required", "mount.virtiofs.tag");
    }
  },
  FilesystemScrubConfig: (checks, value) => checkInterval(checks, value, "interval"),
  FilesystemTrimConfig: (checks, value) => {
    if (pickText(value, "interval").startsWith("-")) {
      addError(checks, "interval cannot be negative", "interval");
    }
  },
  RawVolumeConfig: checkPlainVolume,
  SwapVolumeConfig: checkPlainVolume,
  UserVolumeConfig: checkUserVolume,
  VolumeConfig: checkSystemVolume,
  ZswapConfig: (checks, value) => {
    const percent = pickNumber(value, "maxPoolPercent");
    if (percent < 0 || percent > 100) {
      addError(checks, "maxPoolPercent must be between 0 and 100", "maxPoolPercent");
    }
  },
};

/** A partition label holds 36 characters, two of which tell what the volume is. */
const MAX_NAME_LENGTH = 34;

const SYSTEM_VOLUMES = ["STATE", "EPHEMERAL", "IMAGECACHE", "ETCD", "CRI", "KUBELET", "LOG"];

/** Shortest interval between checks of a file system, in seconds. */
const MIN_SCRUB_INTERVAL_S = 10;

function checkName(checks: Checks, value: Fields, maxLength = Infinity): void {
  const name = pickText(value, "name");
  if (name === "") addError(checks, "name is required", "name");
  if (maxLength !== Infinity && (name.length < 1 || name.length > maxLength)) {
    addError(checks, `name must be between 1 and ${maxLength} characters long`, "name");
  }
  if (!/^[a-zA-Z0-9-]*$/.test(name)) {
    const message =
      "name can only contain lowercase and uppercase ASCII letters, digits, and hyphens";
    addError(checks, message, "name");
  }
}

function checkCel(checks: Checks, expression: string, what: string, path: string): void {
  const problem = celProblem(expression);
  if (problem !== undefined) addError(checks, `${what} is invalid: ${problem}`, path);
}

function checkPlainVolume(checks: Checks, value: Fields): void {
  checkName(checks, value, MAX_NAME_LENGTH);
  checkProvisioning(checks, value, { isRequired: true, hasSize: true });
  checkEncryption(checks, value);
}

function checkUserVolume(checks: Checks, value: Fields): void {
  checkName(checks, value, MAX_NAME_LENGTH);
  const type = pickText(value, "volumeType") || "partition";
  if (type === "directory") checkDirectory(checks, value);
  else if (type === "disk" || type === "partition") {
    checkProvisioning(checks, value, { isRequired: true, hasSize: type === "partition" });
    checkFilesystem(checks, value);
    checkEncryption(checks, value);
  } else addError(checks, `unsupported volume type ${quote(type)}`, "volumeType");
  checkMaintenance(checks, value);
}

function checkDirectory(checks: Checks, value: Fields): void {
  for (const part of ["provisioning", "encryption", "filesystem"]) {
    if (!hasPart("UserVolumeConfig", value, part)) continue;
    addError(checks, `${part} spec is invalid for volumeType directory`, part);
  }
  if (pick(value, "mount.disableAccessTime") !== undefined) {
    const message = "mount.disableAccessTime is invalid for volumeType directory";
    addError(checks, message, "mount.disableAccessTime");
  }
}

/** Whether a part of a document says anything. */
function hasPart(kind: string, value: Fields, part: string): boolean {
  const type = documentType(kind)?.fields.get(part)?.type;
  return type !== undefined && !isEmpty(type, value[part]);
}

function checkFilesystem(checks: Checks, value: Fields): void {
  const type = pickText(value, "filesystem.type");
  const fail = (message: string) => addError(checks, message, "filesystem");
  if (!["", "none", "xfs", "ext4", "btrfs"].includes(type)) {
    fail(`unsupported filesystem type: ${type}`);
    return;
  }
  // Without a type the volume gets xfs.
  const isXfs = ["", "none", "xfs"].includes(type);
  if (isTrue(value, "filesystem.projectQuotaSupport") && !isXfs) {
    fail("project quota support is only available for xfs filesystem");
  } else if (pick(value, "filesystem.xfs") !== undefined && !isXfs) {
    fail("xfs options are only available for xfs filesystem");
  }
}

function checkSystemVolume(checks: Checks, value: Fields): void {
  const name = pickText(value, "name");
  if (!SYSTEM_VOLUMES.includes(name)) {
    const known = SYSTEM_VOLUMES.map(quote).join(" ");
    addError(checks, `only [${known}] volumes are supported`, "name");
    return;
  }
  const has = (part: string) => hasPart("VolumeConfig", value, part);
  const refuse = (part: string) =>
    addError(checks, `${part} config is not allowed for the ${quote(name)} volume`, part);
  if (name === "STATE") {
    if (has("provisioning")) refuse("provisioning");
    for (const key of pickList(value, "encryption.keys")) {
      if (!isTrue(key, "lockToState")) continue;
      const message = `state-locked key is not allowed for the ${quote(name)} volume`;
      addError(checks, message, "encryption.keys");
    }
  }
  if ((name === "STATE" || name === "IMAGECACHE") && has("mount")) refuse("mount");
  if (name === "IMAGECACHE" && has("filesystem")) refuse("filesystem");
  if (SYSTEM_VOLUMES.indexOf(name) > 2 && has("mount") && !has("provisioning")) {
    addError(
      checks,
      `mount config for the ${quote(name)} volume is only supported when it is provisioned ` +
        "onto a dedicated partition",
      "mount",
    );
  }
  checkProvisioning(checks, value, { isRequired: false, hasSize: true });
  checkEncryption(checks, value);
  checkMaintenance(checks, value);
}

function checkProvisioning(
  checks: Checks,
  value: Fields,
  { isRequired, hasSize }: { readonly isRequired: boolean; readonly hasSize: boolean },
): void {
  const match = pickText(value, "provisioning.diskSelector.match");
  if (match !== "") checkCel(checks, match, "disk selector", "provisioning.diskSelector.match");
  else if (isRequired) addError(checks, "disk selector is required", "provisioning.diskSelector");
  const [min, max] = [
    pickText(value, "provisioning.minSize"),
    pickText(value, "provisioning.maxSize"),
  ];
  const fail = (message: string) => addError(checks, message, "provisioning");
  if (!hasSize) {
    if (min !== "" || max !== "" || pick(value, "provisioning.grow") !== undefined) {
      fail("min size, max size and grow are not supported");
    }
    return;
  }
  if (min !== "" && max !== "" && !max.includes("%") && !max.startsWith("-")) {
    if (parseBytes(min.replace(/^-/, "")) > parseBytes(max)) {
      fail("min size is greater than max size");
    }
  } else if (isRequired && min === "" && max === "") fail("min size or max size is required");
  if (min.startsWith("-")) fail("min size cannot be negative");
}

function checkEncryption(checks: Checks, value: Fields): void {
  const encryption = pick(value, "encryption");
  const provider = pickText(encryption, "provider");
  const keys = pickList(encryption, "keys");
  if (encryption === undefined || (provider === "" && keys.length === 0)) return;
  const fail = (message: string) => addError(checks, message, "encryption");
  if (provider !== "luks2") fail(`unsupported encryption provider: ${provider || "none"}`);
  if (keys.length === 0) fail("encryption keys are required");
  const slots = new Set<number>();
  for (const key of keys) {
    const slot = pickNumber(key, "slot");
    if (slots.has(slot)) fail(`duplicate key slot ${slot}`);
    slots.add(slot);
    if (["static", "nodeID", "kms", "tpm"].every((kind) => pick(key, kind) === undefined)) {
      fail(`at least one encryption key type must be specified for slot ${slot}`);
    }
    for (const register of pickList(key, "tpm.options.pcrs")) {
      const number = Number(register);
      if (number < 0 || number > 23) fail(`TPM PCR ${number} is out of range (0-23)`);
    }
  }
}

function checkMaintenance(checks: Checks, value: Fields): void {
  if (pickText(value, "trim.interval").startsWith("-")) {
    addError(checks, "trim interval cannot be negative", "trim.interval");
  }
  checkInterval(checks, value, "scrub.interval");
}

function checkInterval(checks: Checks, value: Fields, path: string): void {
  const interval = pickText(value, path);
  if (interval !== "" && (parseDuration(interval) ?? 0) < MIN_SCRUB_INTERVAL_S) {
    addError(checks, `scrub interval: minimum value is ${MIN_SCRUB_INTERVAL_S}s`, path);
  }
}
