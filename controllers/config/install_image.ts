// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Names the image from which a machine installs itself.
 *
 * @module
 */

import { type Contract, since } from "../../talos/config/contract.ts";

/** What a reference to an installer is made of; the names are those of a site's own template. */
export interface InstallerFields {
  /** Host of the image factory, without a scheme. */
  readonly Host: string;
  /** For example `metal`. */
  readonly Platform: string;
  readonly SecureBoot: boolean;
  readonly Schematic: string;
  /** The version that the cluster names, without a leading `v`. */
  readonly Version: string;
}

/** The schematic without any extension or argument, for machines whose image names none. */
const PLAIN_SCHEMATIC = "376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba";

/** A site's own rule. */
export type InstallerTemplate = (fields: InstallerFields) => string;

/**
 * The reference by the site's template, or by the usual rule without one: from contract 1.10 on the
 * platform is a part of the name.
 */
export function installImage(
  fields: InstallerFields,
  contract: Contract,
  template: InstallerTemplate | undefined,
): string {
  const named = { ...fields, Schematic: fields.Schematic || PLAIN_SCHEMATIC };
  if (template !== undefined) return template(named);
  const { Host, Platform, SecureBoot, Schematic, Version } = named;
  const name = since(contract, 10) ? `${Platform}-installer` : "installer";
  return `${Host}/${name}${SecureBoot ? "-secureboot" : ""}/${Schematic}:v${Version}`;
}
