// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * What a user's patch may not contain, because the server decides about it: identity, secrets,
 * roles and the installation of a machine.
 *
 * Presence alone counts: a field that is null, empty or marked for deletion is refused too.
 *
 * @module
 */

import { CodedError } from "../../base/errors.ts";
import { decodeAny, isNullNode } from "./decode.ts";
import { orderAny } from "./encode.ts";
import { formatErrors } from "./error_list.ts";
import { parseStrategicPatch } from "./patch.ts";
import { StepBudget } from "./yaml_node.ts";
import { parseYamlText } from "./yaml_parse.ts";
import { joinDocuments, PATCH_LAYOUT, writeYaml } from "./yaml_write.ts";

/** Fields of the main document. */
const FORBIDDEN_FIELDS: readonly string[] = [
  "cluster.clusterName",
  "cluster.id",
  "cluster.controlPlane.endpoint",
  "cluster.token",
  "cluster.secret",
  "cluster.aescbcEncryptionSecret",
  "cluster.secretboxEncryptionSecret",
  "cluster.ca",
  "cluster.acceptedCAs",
  "cluster.serviceAccount",
  "machine.token",
  "machine.ca",
  "machine.type",
  "machine.install.disk",
  "machine.install.extensions",
  "machine.acceptedCAs",
];

const FORBIDDEN_DOCUMENTS: ReadonlySet<string> = new Set([
  "UnattendedInstallConfig",
  "DiscoveryIdentityConfig",
  "KubeClusterConfig",
  "KubeEtcdEncryptionConfig",
  "KubeAPIServerCAConfig",
  "KubeAggregatorCAConfig",
]);

/** Fields of other documents, by kind. */
const FORBIDDEN_DOCUMENT_FIELDS: ReadonlyMap<string, readonly string[]> = new Map([
  ["KubeServiceAccountConfig", ["issuer.privateKey"]],
]);

/** Lists of roles, by kind; the main document has no kind. */
const ROLE_LISTS: ReadonlyMap<string, string> = new Map([
  ["", "machine.features.kubernetesTalosAPIAccess.allowedRoles"],
  ["KubeTalosAPIAccessConfig", "allowedRoles"],
]);

const FORBIDDEN_ROLE = "os:admin";

/**
 * Checks a user's patch.
 *
 * @throws CodedError `invalidArgument` when it is no strategic patch, `permissionDenied` with every
 * finding when it holds what it may not.
 */
export function checkUserPatch(text: string): void {
  const errors: string[] = [];
  for (const document of readDocuments(text)) {
    const kind = kindOf(document);
    if (FORBIDDEN_DOCUMENTS.has(kind)) {
      errors.push(`the "${kind}" document is not allowed in the config patch`);
      continue;
    }
    for (const field of fieldsOf(kind)) {
      if (hasField(document, field)) {
        errors.push(`overriding "${field}" is not allowed in the config patch`);
      }
    }
    const list = ROLE_LISTS.get(kind) ?? "";
    for (const element of rolesOf(document, list)) {
      if (element === FORBIDDEN_ROLE) {
        errors.push(`element "${FORBIDDEN_ROLE}" is not allowed in field "${list}"`);
      }
    }
  }
  if (errors.length > 0) throw new CodedError("permissionDenied", formatErrors(errors));
}

/**
 * Takes out of a patch what a user's patch may not contain. What remains is printed with sorted
 * keys; an empty text means that nothing remains.
 *
 * @throws CodedError `invalidArgument` when it is no strategic patch.
 */
export function sanitizeUserPatch(text: string): string {
  const kept: string[] = [];
  for (const document of readDocuments(text)) {
    const kind = kindOf(document);
    if (FORBIDDEN_DOCUMENTS.has(kind)) continue;
    for (const field of fieldsOf(kind)) removeField(document, field);
    for (const [key, value] of document) {
      if (value instanceof Map && value.size === 0) document.delete(key);
    }
    removeRoles(document, ROLE_LISTS.get(kind) ?? "");
    const isEmpty = [...document.keys()].every((key) => key === "apiVersion" || key === "kind");
    if (!isEmpty) kept.push(writeYaml(orderAny(document), PATCH_LAYOUT));
  }
  return joinDocuments(kept);
}

type PatchDocument = Map<string, unknown>;

function readDocuments(text: string): PatchDocument[] {
  const parsed = parseYamlText(text);
  // Strict loading first: what Talos would refuse is refused with its own reason.
  parseStrategicPatch(parsed, { allowDuplicates: false });
  const budget = new StepBudget();
  return parsed.roots.filter(({ node }) => !isNullNode(node))
    .map(({ node }) => decodeAny(node, budget)).filter((value) => value instanceof Map);
}

function kindOf(document: PatchDocument): string {
  const kind = document.get("kind");
  return typeof kind === "string" ? kind : "";
}

function fieldsOf(kind: string): readonly string[] {
  return kind === "" ? FORBIDDEN_FIELDS : FORBIDDEN_DOCUMENT_FIELDS.get(kind) ?? [];
}

/** The mapping that holds a field, and the field's own name. */
function findParent(document: PatchDocument, field: string): [PatchDocument, string] | undefined {
  const steps = field.split(".");
  const last = steps.pop() ?? "";
  let parent: unknown = document;
  for (const step of steps) parent = parent instanceof Map ? parent.get(step) : undefined;
  return parent instanceof Map ? [parent, last] : undefined;
}

function hasField(document: PatchDocument, field: string): boolean {
  const found = findParent(document, field);
  return found !== undefined && found[0].has(found[1]);
}

function removeField(document: PatchDocument, field: string): void {
  const found = findParent(document, field);
  found?.[0].delete(found[1]);
}

function rolesOf(document: PatchDocument, field: string): readonly unknown[] {
  const found = field === "" ? undefined : findParent(document, field);
  const value = found?.[0].get(found[1]);
  return Array.isArray(value) ? value : [];
}

function removeRoles(document: PatchDocument, field: string): void {
  const roles = rolesOf(document, field);
  const kept = roles.filter((role) => role !== FORBIDDEN_ROLE);
  if (kept.length === roles.length) return;
  if (kept.length === 0) removeField(document, field);
  else findParent(document, field)?.[0].set(field.split(".").at(-1) ?? "", kept);
}
