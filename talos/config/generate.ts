// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Generates the configuration of a machine, byte for byte as Talos's own generator prints it
 * without comments.
 *
 * @module
 */

import { CodedError } from "../../base/errors.ts";
import { generateDocuments } from "./generate_documents.ts";
import type { GenerateInput } from "./generate_input.ts";
import { generateV1alpha1 } from "./generate_v1alpha1.ts";
import { joinDocuments, writeYaml, type YamlValue } from "./yaml_write.ts";

/**
 * Generates a configuration as text.
 *
 * @throws CodedError `invalidArgument` for an unknown machine type.
 */
export function generateConfig(input: GenerateInput): string {
  return joinDocuments(generateDocumentValues(input).map((document) => writeYaml(document)));
}

/** Generates a configuration as values in the order of their printing. */
function generateDocumentValues(input: GenerateInput): YamlValue[] {
  if (input.machineType !== "controlplane" && input.machineType !== "worker") {
    // The type may come from a file, where the compiler cannot check it.
    throw new CodedError("invalidArgument", `invalid machine type: "${input.machineType}"`);
  }
  return [generateV1alpha1(input), ...generateDocuments(input)];
}
