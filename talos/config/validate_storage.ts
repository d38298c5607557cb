// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Checks of documents about LVM and RAID.
 *
 * @module
 */

import { celProblem } from "./cel_check.ts";
import { addError, type Checks, type DocumentCheck, pick, pickNumber, pickText } from "./checks.ts";
import type { Fields } from "./decode.ts";
import { parseBytes } from "./scalars.ts";

/** Checks by kind. */
export const STORAGE_CHECKS: Readonly<Record<string, DocumentCheck>> = {
  LVMLogicalVolumeConfig: checkLogicalVolume,
  LVMVolumeGroupConfig: (checks, value) => {
    checkName(checks, value, 63);
    checkSelector(checks, value);
  },
  RAIDArrayConfig: (checks, value) => {
    checkName(checks, value, 32);
    checkSelector(checks, value);
  },
};

function checkName(checks: Checks, value: Fields, maxLength: number): void {
  const name = pickText(value, "name");
  const fail = (message: string) => addError(checks, message, "name");
  if (name === "") fail("name is required");
  if (name.length < 1 || name.length > maxLength) {
    fail(`name must be between 1 and ${maxLength} characters long`);
  }
  if (!/^[a-zA-Z0-9_-]*$/.test(name)) {
    fail("name can only contain ASCII letters, digits, hyphens and underscores");
  }
}

function checkSelector(checks: Checks, value: Fields): void {
  const path = "provisioning.volumeSelector.match";
  const match = pickText(value, path);
  const problem = match === "" ? undefined : celProblem(match);
  if (match === "") addError(checks, `${path} is required`, path);
  if (problem !== undefined) addError(checks, `${path}: ${problem}`, path);
}

function checkLogicalVolume(checks: Checks, value: Fields): void {
  checkName(checks, value, 63);
  const type = pickText(value, "type") || "linear";
  for (
    const [field, levels, least] of [
      ["mirrors", ["raid1", "raid10"], 1],
      ["stripes", ["raid0", "raid10"], 2],
    ] as const
  ) {
    if (pick(value, field) === undefined) continue;
    const isFitting = levels.some((level) => level === type);
    const message = isFitting
      ? `${field} must be at least ${least}`
      : `${field} is only valid for ${levels.join("/")}, not ${type}`;
    if (!isFitting || pickNumber(value, field) < least) addError(checks, message, field);
  }
  const [group, min, max] = ["volumeGroup", "minSize", "maxSize"].map((field) =>
    pickText(value, `provisioning.${field}`)
  );
  const fail = (message: string) => addError(checks, message, "provisioning");
  if (!group) fail("provisioning.volumeGroup is required");
  if (!max) fail("provisioning.maxSize is required");
  if (max?.startsWith("-")) fail("provisioning.maxSize must not be negative");
  const size = (text = "") => text === "" ? 0 : parseBytes(text.replace(/^-/, ""));
  if (min && !max?.includes("%") && size(min) > size(max)) {
    fail("provisioning.minSize must not exceed provisioning.maxSize");
  }
}
