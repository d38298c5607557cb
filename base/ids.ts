// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Identifiers that must not be mixed up.
 *
 * @module
 */

declare const brand: unique symbol;

/** A string that was checked to be an identifier of one kind. */
type Branded<Name extends string> = string & { readonly [brand]: Name };

/** The SMBIOS UUID of a machine, lower case with dashes. */
export type MachineId = Branded<"MachineId">;

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Reads a machine UUID in any case, or returns `undefined` when it is none. */
export function parseMachineId(text: string): MachineId | undefined {
  const normal = text.toLowerCase();
  return UUID.test(normal) ? normal as MachineId : undefined;
}
