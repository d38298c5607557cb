// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Checks of documents about containers that a machine runs outside Kubernetes.
 *
 * @module
 */

import {
  addError,
  addWarning,
  type Checks,
  type DocumentCheck,
  pick,
  pickList,
  pickNumber,
  pickText,
  pickTexts,
  quote,
} from "./checks.ts";
import type { Fields } from "./decode.ts";
import { parseBytes } from "./scalars.ts";

/** Checks by kind. */
export const CONTAINER_CHECKS: Readonly<Record<string, DocumentCheck>> = {
  ContainerConfig: (checks, value) => {
    const name = pickText(value, "name");
    checkName(checks, name);
    checkImage(checks, name, pickText(value, "image"));
    for (const [i, variable] of pickTexts(value, "environment").entries()) {
      if (variable.includes("=")) continue;
      const message = `environment[${i}]: ${quote(variable)} must be in KEY=value form`;
      addError(checks, message, `environment[${i}]`);
    }
    checkMounts(checks, value);
    checkSecurity(checks, value);
    checkLimits(checks, value);
    checkDependencies(checks, value, name);
    for (const field of ["uid", "gid"]) {
      const id = pickNumber(value, `runAs.${field}`);
      if (id < 0) {
        addError(checks, `runAs.${field} must be non-negative, got ${id}`, `runAs.${field}`);
      }
    }
  },
};

function checkName(checks: Checks, name: string): void {
  if (name === "") addError(checks, "name is required", "name");
  else if (name.length > 63) {
    addError(checks, `name ${quote(name)} must be 63 characters or fewer`, "name");
  } else if (!/^[a-z0-9-]+$/.test(name)) {
    const message = `name ${
      quote(name)
    }: name can only contain lowercase ASCII letters, digits and hyphens`;
    addError(checks, message, "name");
  }
}

const IMAGE =
  /^(?:[a-zA-Z0-9.-]+(?::\d+)?\/)?[a-z0-9._/-]+(?::[\w][\w.-]{0,127})?(?:@[a-z0-9]+:[0-9a-fA-F]{32,})?$/;

function checkImage(checks: Checks, name: string, image: string): void {
  if (image === "") addError(checks, "image is required", "image");
  else if (!IMAGE.test(image)) {
    const message = `invalid image reference ${quote(image)}: could not parse reference: ${image}`;
    addError(checks, message, "image");
  } else if (!image.includes("@")) {
    const message = `container ${quote(name)}: image ${quote(image)} is not digest-pinned, ` +
      "the running image may change on restart";
    addWarning(checks, message, "image");
  }
}

const MOUNT_OPTIONS = ["ro", "rw", "noexec", "nosuid", "nodev", "noatime"];
const MOUNT_KINDS = ["userVolume", "tmpfs", "hostPath"] as const;

function checkMounts(checks: Checks, value: Fields): void {
  const destinations = new Set<string>();
  for (const [i, mount] of pickList(value, "mounts").entries()) {
    const path = `mounts[${i}]`;
    const kinds = MOUNT_KINDS.filter((kind) => pick(mount, kind) !== undefined);
    const [kind] = kinds;
    const problems = kind === undefined || kinds.length > 1
      ? ["exactly one of userVolume, tmpfs or hostPath must be set"]
      : mountProblems(mount, kind);
    const destination = pickText(mount, `${kind}.destination`);
    if (problems.length > 0) addError(checks, `${path}: ${problems.join("\n")}`, path);
    else {
      if (destinations.has(destination)) {
        addError(checks, `${path}: duplicate destination ${quote(destination)}`, path);
      }
      destinations.add(destination);
    }
  }
}

function mountProblems(mount: unknown, kind: typeof MOUNT_KINDS[number]): string[] {
  const problems: string[] = [];
  const requirePath = (field: string) => {
    const problem = pathProblem(`${kind}.${field}`, pickText(mount, `${kind}.${field}`));
    if (problem !== undefined) problems.push(problem);
  };
  if (kind === "userVolume" && pickText(mount, "userVolume.name") === "") {
    problems.push("userVolume.name is required");
  }
  if (kind === "hostPath") requirePath("source");
  requirePath("destination");
  const options = pickTexts(mount, `${kind}.options`);
  for (const option of options) {
    if (!MOUNT_OPTIONS.includes(option)) {
      problems.push(`unsupported mount option ${quote(option)}`);
    }
  }
  if (options.includes("ro") && options.includes("rw")) {
    problems.push("mount options ro and rw are mutually exclusive");
  }
  return problems;
}

function pathProblem(what: string, path: string): string | undefined {
  if (path === "") return `${what} is required`;
  return path.startsWith("/") ? undefined : `${what} ${quote(path)} must be an absolute path`;
}

function checkSecurity(checks: Checks, value: Fields): void {
  const fail = (message: string) => addError(checks, message, "security");
  const profile = pickText(value, "security.profile") || "restricted";
  if (profile !== "restricted" && profile !== "privileged") {
    fail(`unsupported security profile ${quote(profile)}, expected restricted or privileged`);
  }
  const [added, dropped] = ["add", "drop"].map((field) =>
    pickTexts(value, `security.capabilities.${field}`)
  );
  for (const name of added ?? []) {
    if (name === "ALL") {
      fail("capabilities.add does not accept ALL, use profile: privileged instead");
    } else checkCapability(fail, "capabilities.add", name);
  }
  for (const name of dropped ?? []) {
    if (name !== "ALL") checkCapability(fail, "capabilities.drop", name);
  }
  for (const name of added ?? []) {
    if (dropped?.includes(name)) fail(`capability ${quote(name)} appears in both add and drop`);
  }
  const mode = pickText(value, "network.mode");
  if (!["", "none", "host"].includes(mode)) {
    addError(checks, `unsupported network mode ${quote(mode)}, expected none or host`, "network");
  }
}

function checkCapability(fail: (message: string) => void, field: string, name: string): void {
  const quoted = quote(name);
  if (name === "") fail(`${field}: capability name must not be empty`);
  else if (name.startsWith("CAP_")) {
    fail(`${field}: capability ${quoted} must be given without the CAP_ prefix`);
  } else if (name.toUpperCase() !== name) fail(`${field}: capability ${quoted} must be upper case`);
  else if (!/^[A-Z_]+$/.test(name)) {
    fail(`${field}: capability ${quoted} may only contain upper case letters and underscores`);
  }
}

function checkLimits(checks: Checks, value: Fields): void {
  const memory = pickText(value, "resources.limits.memory");
  const cpu = pickText(value, "resources.limits.cpu");
  if (memory !== "" && !isSize(memory)) {
    const message = `limits.memory ${quote(memory)} is not a valid size`;
    addError(checks, message, "resources.limits.memory");
  }
  if (cpu === "") return;
  const problem = !cpu.endsWith("m")
    ? "must be expressed in millicores, e.g. 1500m"
    : !/^\d+m$/.test(cpu)
    ? "is not a valid millicore quantity"
    : Number(cpu.slice(0, -1)) === 0
    ? "must be greater than zero"
    : undefined;
  if (problem !== undefined) {
    addError(checks, `limits.cpu ${quote(cpu)} ${problem}`, "resources.limits.cpu");
  }
}

function isSize(text: string): boolean {
  try {
    parseBytes(text);
    return true;
  } catch {
    return false;
  }
}

const NETWORK_CONDITIONS = ["addresses", "connectivity", "hostname", "etcfiles"];

function checkDependencies(checks: Checks, value: Fields, name: string): void {
  const fail = (message: string) => addError(checks, message, "dependsOn");
  for (const path of pickTexts(value, "dependsOn.paths")) {
    const problem = pathProblem("dependsOn.paths entry", path);
    if (problem !== undefined) fail(problem);
  }
  for (const condition of pickTexts(value, "dependsOn.networks")) {
    if (!NETWORK_CONDITIONS.includes(condition)) {
      fail(`unsupported dependsOn.networks condition ${quote(condition)}`);
    }
  }
  for (const other of pickTexts(value, "dependsOn.containers")) {
    if (other === "") fail("dependsOn.containers entry must not be empty");
    else if (other === name) fail(`container ${quote(name)} cannot depend on itself`);
  }
}
