// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Tells everything that is wrong with a stored secrets bundle.
 *
 * @module
 */

import { decodePem, KEY_LABELS, type PemBlock, pemFromBase64 } from "./pem.ts";

const AUTHORITIES = ["etcd", "k8s", "k8saggregator"] as const;

/**
 * Finds problems.
 *
 * @param part Reads a value by its path in the YAML form, such as `certs.os.crt`.
 */
export function bundleProblems(part: (path: string) => unknown): string[] {
  const problems: string[] = [];
  const require = (section: string, ...fields: string[]) => {
    if (part(section) === undefined) problems.push(`${section} is required`);
    else {
      for (const field of fields) {
        if (text(part, `${section}.${field}`) === "") {
          problems.push(`${section}.${field} is required`);
        }
      }
    }
  };
  require("cluster", "id", "secret");
  require("secrets", "bootstraptoken");
  if (part("secrets") !== undefined) problems.push(...encryptionProblems(part));
  require("trustdinfo", "token");
  if (part("certs") === undefined) return [...problems, "certs is required"];
  for (const name of AUTHORITIES) problems.push(...pairProblems(part, `certs.${name}`));
  const account = "certs.k8sserviceaccount";
  if (part(account) === undefined) problems.push(`${account} is required`);
  else {
    const problem = keyProblem(text(part, `${account}.key`));
    if (problem !== undefined) problems.push(`${account}.key is invalid: ${problem}`);
  }
  return [...problems, ...pairProblems(part, "certs.os")];
}

function text(part: (path: string) => unknown, path: string): string {
  const value = part(path);
  return typeof value === "string" ? value : "";
}

function encryptionProblems(part: (path: string) => unknown): string[] {
  const names = ["secrets.secretboxencryptionsecret", "secrets.aescbcencryptionsecret"];
  const count = names.filter((name) => text(part, name) !== "").length;
  if (count === 1) return [];
  return [
    count === 0
      ? `one of [${names.join(", ")}] is required`
      : `only one of [${names.join(", ")}] is allowed`,
  ];
}

function pairProblems(part: (path: string) => unknown, path: string): string[] {
  if (part(path) === undefined) return [`${path} is required`];
  const problem = keyProblem(text(part, `${path}.key`)) ??
    certificateProblem(text(part, `${path}.crt`));
  return problem === undefined ? [] : [`${path} is invalid: ${problem}`];
}

function firstBlock(base64: string): PemBlock | undefined {
  try {
    return decodePem(pemFromBase64(base64))[0];
  } catch {
    return undefined;
  }
}

function keyProblem(base64: string): string | undefined {
  const block = firstBlock(base64);
  if (block === undefined) return "failed to parse PEM block";
  return Object.values(KEY_LABELS).some((label) => label === block.label)
    ? undefined
    : `unsupported key type: ${JSON.stringify(block.label)}`;
}

function certificateProblem(base64: string): string | undefined {
  const block = firstBlock(base64);
  if (block === undefined) return "failed to parse PEM block";
  return block.label === "CERTIFICATE"
    ? undefined
    : `unexpected PEM block: ${JSON.stringify(block.label)}`;
}
