// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Checks of documents about network links and what is attached to them.
 *
 * @module
 */

import { celProblem } from "./cel_check.ts";
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
  requireName,
} from "./checks.ts";
import type { Fields } from "./decode.ts";
import { canonicalAddress } from "./ip.ts";
import { wireguardKeyProblem } from "./validate_interfaces.ts";

/** Checks by kind. */
export const LINK_CHECKS: Readonly<Record<string, DocumentCheck>> = {
  BondConfig: checkBond,
  BridgeConfig: checkLink,
  DummyLinkConfig: checkLink,
  HCloudVIPConfig: (checks, value) => {
    checkSharedAddress(checks, value);
    if (pickText(value, "apiToken") === "") {
      addError(checks, "apiToken must be specified", "apiToken");
    }
  },
  Layer2VIPConfig: checkSharedAddress,
  LinkAliasConfig: checkLinkAlias,
  LinkConfig: checkLink,
  VLANConfig: (checks, value) => {
    requireName(checks, value);
    const id = pickNumber(value, "vlanID");
    if (id === 0 || id > 4094) {
      addError(checks, "vlanID must be specified and between 1 and 4094", "vlanID");
    }
    if (pickText(value, "parent") === "") addError(checks, "parent must be specified", "parent");
    checkLinkAddresses(checks, value);
  },
  VRFConfig: (checks, value) => {
    requireName(checks, value);
    const table = pickText(value, "table");
    if (["", "unspec", "local", "main", "default"].includes(table)) {
      addError(checks, `cannot create vrf with reserved table ${table || "unspec"}`, "table");
    }
    checkLinkAddresses(checks, value);
  },
  VethConfig: (checks, value) => {
    const peer = pickText(value, "peer.name");
    checkVethName(checks, pickText(value, "name"), "name", "name");
    checkVethName(checks, peer, "peer name", "peer.name");
    if (peer !== "" && peer === pickText(value, "name")) {
      addError(checks, "name and peer name must be different", "peer.name");
    }
    checkLinkAddresses(checks, value);
    checkLinkAddresses(checks, pick(value, "peer"), "peer.");
  },
  WireguardConfig: checkWireguard,
};

function checkLink(checks: Checks, value: Fields): void {
  requireName(checks, value);
  checkLinkAddresses(checks, value);
}

function isUnspecified(address: string): boolean {
  return ["0.0.0.0", "::"].includes(address.replace(/\/.*$/, ""));
}

function checkLinkAddresses(checks: Checks, link: unknown, prefix = ""): void {
  for (const [i, item] of pickList(link, "addresses").entries()) {
    const address = pickText(item, "address");
    const path = `${prefix}addresses[${i}]`;
    if (address === "") addError(checks, `address ${i} must be specified`, path);
    else if (isUnspecified(address)) {
      addError(checks, `address ${i} must be a valid IP address`, path);
    }
  }
  for (const [i, route] of pickList(link, "routes").entries()) {
    for (
      const [field, what] of [["destination", "prefix"], ["gateway", "address"], [
        "source",
        "address",
      ]]
    ) {
      if (field === undefined || !isUnspecified(pickText(route, field))) continue;
      const message = `route ${i} ${field} must be a valid IP ${what}`;
      addError(checks, message, `${prefix}routes[${i}].${field}`);
    }
  }
}

function checkBond(checks: Checks, value: Fields): void {
  requireName(checks, value);
  const links = pickTexts(value, "links");
  const mode = pickText(value, "bondMode");
  if (links.length === 0) addError(checks, "at least one link must be specified", "links");
  if (pick(value, "bondMode") === undefined) {
    addError(checks, "bond mode must be specified", "bondMode");
  } else if (mode === "802.3ad") {
    for (const field of ["miimon", "updelay", "downdelay"]) {
      if (pick(value, field) !== undefined) continue;
      addWarning(checks, `${field} was not specified for 802.3ad bond`, field);
    }
  }
  const usesPrimary = ["active-backup", "balance-tlb", "balance-alb"].includes(mode);
  const primary = pick(value, "primary");
  if (typeof primary === "string") {
    if (primary === "") addError(checks, "primary link name can't be empty", "primary");
    else if (!links.includes(primary)) {
      const message = `primary link ${quote(primary)} is not in the list of bonded links`;
      addError(checks, message, "primary");
    }
    if (mode !== "" && !usesPrimary) {
      addError(checks, `primary link is not supported in ${quote(mode)} bond mode`, "primary");
    }
  } else if (pick(value, "primaryReselect") !== undefined && usesPrimary) {
    addWarning(
      checks,
      "primaryReselect has no effect unless primary is specified",
      "primaryReselect",
    );
  }
  checkLinkAddresses(checks, value);
}

function checkSharedAddress(checks: Checks, value: Fields): void {
  requireName(checks, value);
  const name = pickText(value, "name");
  if (name !== "" && canonicalAddress(name) === undefined) {
    addError(
      checks,
      `name must be a valid IP address: ParseAddr(${quote(name)}): unable to parse IP`,
      "name",
    );
  }
  if (pickText(value, "link") === "") addError(checks, "link must be specified", "link");
}

function checkLinkAlias(checks: Checks, value: Fields): void {
  const name = pickText(value, "name");
  requireName(checks, value);
  if (name.includes("%") && !/^[^%]+%d$/.test(name)) {
    const message = `name ${quote(name)} contains an invalid format verb, use %d suffix`;
    addError(checks, message, "name");
  }
  const match = pickText(value, "selector.match");
  const problem = match === "" ? undefined : celProblem(match);
  if (match === "") addError(checks, "link selector is required", "selector");
  if (problem !== undefined) {
    addError(checks, `link selector is invalid: ${problem}`, "selector.match");
  }
}

function checkVethName(checks: Checks, name: string, what: string, path: string): void {
  const problem = name === ""
    ? "must be specified"
    : new TextEncoder().encode(name).length > 15
    ? "must not exceed 15 bytes"
    : name === "." || name === ".."
    ? `must not be ${quote(name)}`
    : /[/:]/.test(name)
    ? "must not contain '/' or ':'"
    : /[\p{C}\p{Z}]/u.test(name)
    ? "must not contain whitespace or non-printable characters"
    : undefined;
  if (problem !== undefined) addError(checks, `${what} ${problem}`, path);
}

function checkWireguard(checks: Checks, value: Fields): void {
  requireName(checks, value);
  const key = pickText(value, "privateKey");
  const problem = wireguardKeyProblem(key);
  if (key === "") addError(checks, "wireguard private key must be specified", "privateKey");
  else if (problem !== undefined) {
    addError(checks, `wireguard private key is invalid: ${problem}`, "privateKey");
  }
  const port = pickNumber(value, "listenPort");
  if (port < 0 || port > 65_535) {
    addError(checks, "wireguard listen port must be between 0 and 65535", "listenPort");
  }
  for (const [i, peer] of pickList(value, "peers").entries()) {
    const fail = (message: string) => addError(checks, message, `peers[${i}]`);
    const [publicKey, preshared] = [pickText(peer, "publicKey"), pickText(peer, "presharedKey")];
    const publicProblem = wireguardKeyProblem(publicKey);
    if (publicKey === "") fail(`wireguard peer public key must be specified (peer index ${i})`);
    else if (publicProblem !== undefined) {
      fail(`wireguard peer public key is invalid (peer index ${i}): ${publicProblem}`);
    }
    const presharedProblem = preshared === "" ? undefined : wireguardKeyProblem(preshared);
    if (presharedProblem !== undefined) {
      fail(`wireguard peer preshared key is invalid (peer index ${i}): ${presharedProblem}`);
    }
    if (pickText(peer, "persistentKeepaliveInterval").startsWith("-")) {
      fail(`wireguard peer persistent keepalive interval cannot be negative (peer index ${i})`);
    }
  }
  checkLinkAddresses(checks, value);
}
