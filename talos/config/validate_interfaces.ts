// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Checks of `machine.network.interfaces` in the main document.
 *
 * @module
 */

import {
  addError,
  addWarning,
  type Checks,
  isAddressOrPrefix,
  isTrue,
  pick,
  pickEntries,
  pickList,
  pickNumber,
  pickText,
  pickTexts,
  quote,
} from "./checks.ts";
import { ENUMERATIONS } from "./fields_enumerations.ts";
import { canonicalAddress, canonicalPrefix } from "./ip.ts";
import { fromStrictBase64 } from "./pem.ts";

const EXCLUSIVE = "config sections are mutually exclusive";
const PLACE = "networking.os.device";

/** Checks the interfaces of a machine's network section. */
export function checkInterfaces(checks: Checks, network: unknown): void {
  const devices = pickList(network, "interfaces");
  const owners = findOwners(checks, devices);
  for (const [i, device] of devices.entries()) {
    const path = `machine.network.interfaces[${i}]`;
    if (device === null) addError(checks, "empty device", path);
    else if (!isTrue(device, "ignore")) {
      checkIdentity(checks, device, path);
      checkBond(checks, pick(device, "bond"), `${path}.bond`);
      checkWireguard(checks, pick(device, "wireguard"), `${path}.wireguard`);
      checkVlans(checks, device, path);
      checkAddressing(checks, device, owners, path);
      checkRoutes(checks, device, path);
    }
  }
}

/** Which interface is part of which bond or bridge. */
function findOwners(checks: Checks, devices: readonly unknown[]): ReadonlyMap<string, string> {
  const owners = new Map<string, string>();
  for (const [i, device] of devices.entries()) {
    const name = pickText(device, "interface");
    const path = `machine.network.interfaces[${i}]`;
    const [bond, bridge] = [pick(device, "bond"), pick(device, "bridge")];
    if (bond !== undefined && bridge !== undefined) {
      const message = `interface has both bridge and bond sections set ${
        quote(name)
      }: ${EXCLUSIVE}`;
      addError(checks, message, path);
    }
    const members = pickTexts(bridge ?? bond, "interfaces");
    if (pickList(bond, "interfaces").length > 0 && pickList(bond, "deviceSelectors").length > 0) {
      const message = `interface ${
        quote(name)
      } has both interfaces and selectors set: ${EXCLUSIVE}`;
      addError(checks, message, `${path}.bond`);
    }
    for (const member of members) {
      const owner = owners.get(member);
      if (owner !== undefined && owner !== name) {
        addError(
          checks,
          `interface ${quote(member)} is declared as part of two separate links: ` +
            `${quote(owner)} and ${quote(name)}`,
          path,
        );
      }
      owners.set(member, name);
    }
  }
  return owners;
}

function checkIdentity(checks: Checks, device: unknown, path: string): void {
  const hasName = pickText(device, "interface") !== "";
  const selector = pick(device, "deviceSelector");
  const place = `[${PLACE}.interface], [${PLACE}.deviceSelector]`;
  if (!hasName && selector === undefined) {
    addError(checks, `${place}: required either config section to be set`, path);
  } else if (hasName && selector !== undefined) addError(checks, `${place}: ${EXCLUSIVE}`, path);
  if (selector !== undefined && pickEntries(device, "deviceSelector").length === 0) {
    const message = `[${PLACE}.deviceSelector]: config section should contain at least one field`;
    addError(checks, message, `${path}.deviceSelector`);
  }
}

/** Settings of bonds with a fixed choice, and how Talos complains. */
const BOND_CHOICES: readonly (readonly [field: string, enumeration: string, complaint: string])[] =
  [
    ["mode", "BondMode", "invalid bond type"],
    ["xmitHashPolicy", "BondXmitHashPolicy", "invalid xmit hash policy"],
    ["lacpRate", "LacpRate", "invalid lacp rate"],
    ["arpValidate", "ArpValidate", "invalid arp_validate mode"],
    ["arpAllTargets", "ArpAllTargets", "invalid arp_all_targets mode"],
    ["primaryReselect", "PrimaryReselect", "invalid primary_reselect mode"],
    ["failOverMac", "FailOverMac", "invalid fail_over_mac value"],
    ["adSelect", "AdSelect", "invalid ad_select mode"],
  ];

const TLB_ALB = ["balance-tlb", "balance-alb"];
const LACP = "802.3ad";

function checkBond(checks: Checks, bond: unknown, path: string): void {
  if (bond === undefined) return;
  const fail = (message: string) => addError(checks, message, path);
  for (const [field, enumeration, complaint] of BOND_CHOICES) {
    const choice = pickText(bond, field);
    if (choice !== "" && !ENUMERATIONS[enumeration]?.includes(choice)) {
      fail(`${complaint} ${choice}`);
    }
  }
  // Without a mode, and with a wrong one, the first applies.
  const written = pickText(bond, "mode");
  const mode = ENUMERATIONS.BondMode?.includes(written) ? written : "balance-rr";
  const [miimon, up, down] = ["miimon", "updelay", "downdelay"].map((name) =>
    pickNumber(bond, name)
  );
  for (const [name, delay] of [["upDelay", up ?? 0], ["downDelay", down ?? 0]] as const) {
    if (miimon === 0 ? delay !== 0 : delay % (miimon ?? 1) !== 0) {
      fail(
        miimon === 0
          ? `bond.${name} can't be set if miiMon is zero`
          : `bond.${name} should be a multiple of miiMon`,
      );
    }
  }
  if (pickList(bond, "arpIPTarget").length > 0) fail("bond.arpIPTarget is not supported");
  if (pickText(bond, "adActorSystem") !== "") fail("bond.adActorSystem is not supported");
  const isTlbAlb = TLB_ALB.includes(mode);
  const rules: readonly (readonly [isWrong: boolean, message: string])[] = [
    [
      pickText(bond, "lacpRate") !== "" && mode !== LACP,
      "bond.lacpRate is only available in 802.3ad mode",
    ],
    [
      pickText(bond, "arpValidate") !== "" && (isTlbAlb || mode === LACP),
      `bond.arpValidate is not available in ${mode} mode`,
    ],
    [
      pickText(bond, "primary") !== "" && !isTlbAlb && mode !== "active-backup",
      `bond.primary is not available in ${mode} mode`,
    ],
    [
      pickNumber(bond, "arpInterval") > 0 && (isTlbAlb || mode === LACP),
      `bond.arpInterval is not available in ${mode} mode`,
    ],
    [
      pickNumber(bond, "packetsPerSlave") > 1 && mode !== "balance-rr",
      `bond.packetsPerSlave is not available in ${mode} mode`,
    ],
    [
      pickNumber(bond, "tlbDynamicLb") > 0 && !isTlbAlb,
      `bond.tlbDynamicTLB is not available in ${mode} mode`,
    ],
    [
      pickNumber(bond, "adActorSysPrio") > 0 && mode !== LACP,
      "bond.adActorSysPrio is only available in 802.3ad mode",
    ],
    [
      pickNumber(bond, "adUserPortKey") > 0 && mode !== LACP,
      "bond.adUserPortKey is only available in 802.3ad mode",
    ],
  ];
  for (const [isWrong, message] of rules) if (isWrong) fail(message);
}

/** Why a text is no WireGuard key, or `undefined`. The key itself is never shown. */
export function wireguardKeyProblem(key: string): string | undefined {
  try {
    return fromStrictBase64(key).length === 32 ? undefined : "invalid wireguard key length";
  } catch {
    return "not base64";
  }
}

function checkWireguard(checks: Checks, wireguard: unknown, path: string): void {
  if (wireguard === undefined) return;
  const problem = wireguardKeyProblem(pickText(wireguard, "privateKey"));
  if (problem !== undefined) {
    addError(checks, `private key is invalid: ${problem}`, `${path}.privateKey`);
  }
  for (const [i, peer] of pickList(wireguard, "peers").entries()) {
    const peerPath = `${path}.peers[${i}]`;
    const peerProblem = wireguardKeyProblem(pickText(peer, "publicKey"));
    if (peerProblem !== undefined) addError(checks, `public key invalid: ${peerProblem}`, peerPath);
    const endpoint = pickText(peer, "endpoint");
    if (endpoint !== "" && !/^(?:\[[^\]]+\]|[^:]+):\d+$/.test(endpoint)) {
      addError(checks, `peer endpoint ${quote(endpoint)} is invalid`, `${peerPath}.endpoint`);
    }
    for (const allowed of pickTexts(peer, "allowedIPs")) {
      if (canonicalPrefix(allowed) !== undefined) continue;
      const message = `peer allowed IP ${
        quote(allowed)
      } is invalid: invalid CIDR address: ${allowed}`;
      addError(checks, message, `${peerPath}.allowedIPs`);
    }
  }
}

function addressProblem(address: string): string {
  return address.includes("/")
    ? `invalid CIDR address: ${address}`
    : `failed to parse IP address ${quote(address)}`;
}

function checkVlans(checks: Checks, device: unknown, path: string): void {
  for (const [i, vlan] of pickList(device, "vlans").entries()) {
    const name = `${pickText(device, "interface")}.${pickNumber(vlan, "vlanId")}`;
    const cidr = pickText(vlan, "cidr");
    const addresses = pickTexts(vlan, "addresses");
    const fail = (message: string) => addError(checks, message, `${path}.vlans[${i}]`);
    if (addresses.length > 0 && cidr !== "") {
      fail(`[${PLACE}.vlan] ${name}: vlan can't have both .cidr and .addresses set`);
    }
    if (cidr !== "" && !isAddressOrPrefix(cidr)) {
      fail(`[${PLACE}.vlan.CIDR] ${name}: ${addressProblem(cidr)}`);
    }
    for (const address of addresses) {
      if (!isAddressOrPrefix(address)) {
        fail(`[${PLACE}.vlan.addresses] ${name}: ${addressProblem(address)}`);
      }
    }
  }
}

function checkAddressing(
  checks: Checks,
  device: unknown,
  owners: ReadonlyMap<string, string>,
  path: string,
): void {
  const name = pickText(device, "interface");
  const cidr = pickText(device, "cidr");
  const addresses = pickTexts(device, "addresses");
  const vip = pick(device, "vip");
  const fail = (message: string) => addError(checks, message, path);
  if (
    owners.has(name) &&
    (isTrue(device, "dhcp") || cidr !== "" || addresses.length > 0 || vip !== undefined)
  ) {
    fail(
      `[${PLACE}] ${
        quote(name)
      }: bonded/bridged interface shouldn't have any addressing methods configured`,
    );
  }
  if (addresses.length > 0 && cidr !== "") {
    fail(`[${PLACE}] ${quote(name)}: interface can't have both .cidr and .addresses set`);
  }
  if (cidr !== "") {
    if (!isAddressOrPrefix(cidr)) fail(`[${PLACE}.CIDR] ${quote(name)}: ${addressProblem(cidr)}`);
    const message = `${quote(name)}: machine.network.interface.cidr is deprecated, ` +
      "please use machine.network.interface.addresses";
    addWarning(checks, message, `${path}.cidr`);
  }
  for (const address of addresses) {
    if (!isAddressOrPrefix(address)) {
      fail(`[${PLACE}.addresses] ${quote(name)}: ${addressProblem(address)}`);
    }
  }
  const shared = pickText(vip, "ip");
  if (vip !== undefined && canonicalAddress(shared) === undefined) {
    fail(`[${PLACE}.vip] failed to parse ${quote(shared)} as IP address`);
  }
}

function checkRoutes(checks: Checks, device: unknown, path: string): void {
  for (const [i, route] of pickList(device, "routes").entries()) {
    const [network, gateway, source] = ["network", "gateway", "source"].map((name) =>
      pickText(route, name)
    );
    const fail = (message: string) => addError(checks, message, `${path}.routes[${i}]`);
    const invalid = (field: string, text = "") =>
      fail(`[${PLACE}.route[${i}].${field}] ${quote(text)}: invalid network address`);
    if (network && canonicalPrefix(network) === undefined) invalid("network", network);
    if (gateway && canonicalAddress(gateway) === undefined) invalid("gateway", gateway);
    if (!network && !gateway) {
      fail(`[${PLACE}.route[${i}]]: either network or gateway should be set`);
    }
    if (source && canonicalAddress(source) === undefined) invalid("source", source);
  }
}
