// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Names the image from which a machine installs itself.
 *
 * @module
 */

import { type Contract, since } from "../../talos/config/contract.ts";

/** What a reference to an installer is made of. */
export interface InstallerFields {
  /** Host of the image factory, without a scheme. */
  readonly host: string;
  /** For example `metal`. */
  readonly platform: string;
  readonly secureBoot: boolean;
  readonly schematic: string;
  /** The version that the cluster names, without a leading `v`. */
  readonly version: string;
}

/** Fields that a site's own template may use, as Go's text/template writes them. */
const FIELD = /\{\{-?\s*\$?\.(Host|Platform|SecureBoot|Schematic|Version)\s*-?\}\}/g;

/**
 * The reference by the site's template, or by the usual rule without one: from contract 1.10 on the
 * platform is a part of the name.
 */
export function installImage(
  fields: InstallerFields,
  contract: Contract,
  template: string,
): string {
  if (template !== "") return fillTemplate(template, fields);
  const { host, platform, secureBoot, schematic, version } = fields;
  const name = since(contract, 10) ? `${platform}-installer` : "installer";
  return `${host}/${name}${secureBoot ? "-secureboot" : ""}/${schematic}:v${version}`;
}

function fillTemplate(template: string, fields: InstallerFields): string {
  const values: Readonly<Record<string, string>> = {
    Host: fields.host,
    Platform: fields.platform,
    SecureBoot: String(fields.secureBoot),
    Schematic: fields.schematic,
    Version: fields.version,
  };
  return template.replace(FIELD, (_whole, name: string) => values[name] ?? "");
}
