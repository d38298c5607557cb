// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Checks that a set of controllers can run together.
 *
 * @module
 */

import { CodedError } from "../../base/errors.ts";
import type { Controller } from "../controller.ts";

/** All reasons why the controllers cannot run together; empty when they can. */
export function findConflicts(controllers: readonly Controller[]): readonly string[] {
  const problems: string[] = [];
  const names = new Set<string>();
  const writers = new Map<string, string>();
  for (const controller of controllers) {
    const { name, output, concurrency } = controller;
    if (!/^[a-z][a-zA-Z0-9]*\.[A-Z][a-zA-Z0-9]*$/.test(name)) {
      problems.push(`controller name "${name}" is not like "area.NounController"`);
    }
    if (names.has(name)) problems.push(`controller name "${name}" is used twice`);
    names.add(name);
    if (!Number.isInteger(concurrency) || concurrency < 1) {
      problems.push(`controller "${name}" has concurrency ${concurrency}, expected 1 or more`);
    }
    const kind = `${output.type.namespace}/${output.type.type}`;
    const writer = writers.get(kind);
    if (writer !== undefined) {
      problems.push(`"${output.type.type}" is written by "${writer}" and by "${name}"`);
    }
    writers.set(kind, name);
    problems.push(...inputProblems(controller));
  }
  return problems;
}

/** Throws `invalidArgument` with all problems at once. */
export function requireCompatible(controllers: readonly Controller[]): void {
  const problems = findConflicts(controllers);
  if (problems.length === 0) return;
  throw new CodedError("invalidArgument", `Cannot run the controllers: ${problems.join("; ")}`);
}

function inputProblems(controller: Controller): string[] {
  const { name, output, mapped } = controller;
  const problems: string[] = [];
  if (controller.shape !== "collector") {
    const { primary } = controller;
    if (primary.type === output.type.type && primary.namespace === output.type.namespace) {
      problems.push(`controller "${name}" writes its own primary "${primary.type}"`);
    }
  }
  for (const { type, held } of mapped) {
    if (held && type.type === output.type.type && type.namespace === output.type.namespace) {
      problems.push(`controller "${name}" holds its own output "${type.type}"`);
    }
    if (held && controller.shape === "collector") {
      problems.push(`collector "${name}" holds "${type.type}" but never lets go`);
    }
  }
  return problems;
}
