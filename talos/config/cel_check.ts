// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Checks the syntax of CEL expressions in configurations.
 *
 * Names and types are left to the machine, whose environment differs from release to release.
 *
 * @module
 */

import { parse } from "@bufbuild/cel";

/** Longest expression that is parsed. */
const MAX_EXPRESSION_LENGTH = 4096;

/** Why an expression cannot be parsed, or `undefined`. */
export function celProblem(expression: string): string | undefined {
  if (expression.length > MAX_EXPRESSION_LENGTH) {
    return `expression is longer than ${MAX_EXPRESSION_LENGTH} characters`;
  }
  try {
    parse(expression);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message.trim() : "syntax error";
  }
}
