// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Checks of documents about networking.
 *
 * @module
 */

import {
  addError,
  addWarning,
  type Checks,
  type DocumentCheck,
  isSubnet,
  isTrue,
  pick,
  pickList,
  pickNumber,
  pickText,
  pickTexts,
  quote,
  requireName,
  splitUrl,
} from "./checks.ts";
import type { Fields } from "./decode.ts";
import { canonicalAddress, canonicalPrefix } from "./ip.ts";
import { MIN_KUBESPAN_MTU } from "./validate_main.ts";

/** Checks by kind. */
export const NETWORK_CHECKS: Readonly<Record<string, DocumentCheck>> = {
  BlackholeRouteConfig: (checks, value) => {
    requireName(checks, value);
    const name = pickText(value, "name");
    if (canonicalPrefix(name) === undefined) {
      const reason = name.includes("/") ? "unable to parse IP" : "no '/'";
      const message = `name must be a valid address prefix: netip.ParsePrefix(${
        quote(name)
      }): ${reason}`;
      addError(checks, message, "name");
    }
  },
  BGPInstanceConfig: (checks, value) => {
    requireName(checks, value);
    if (pickNumber(value, "localASN") === 0) {
      addError(checks, "localASN must be specified", "localASN");
    }
    if (pickList(value, "neighbors").length === 0) {
      addWarning(checks, "BGPInstanceConfig has no neighbors configured", "neighbors");
    }
  },
  DHCPv4Config: checkDhcp,
  DHCPv6Config: checkDhcp,
  EthernetConfig: (checks, value) => requireName(checks, value, "name is required"),
  HTTPProbeConfig: (checks, value) => {
    requireName(checks, value, "probe name is required");
    const { scheme, host } = splitUrl(pickText(value, "url"));
    if (pickText(value, "url") === "") addError(checks, "HTTP probe URL is required", "url");
    else if (scheme !== "http" && scheme !== "https") {
      const message = `HTTP probe URL scheme must be http or https, got ${quote(scheme)}`;
      addError(checks, message, "url");
    } else if (host === "") {
      const message = "HTTP probe URL must be an absolute http or https URL with a non-empty host";
      addError(checks, message, "url");
    }
    checkProbe(checks, value, "HTTP");
  },
  HostnameConfig: checkHostname,
  KubeSpanConfig: (checks, value) => {
    const mtu = pickNumber(value, "mtu");
    if (pick(value, "mtu") !== undefined && mtu < MIN_KUBESPAN_MTU) {
      addError(checks, `kubespan link MTU must be at least ${MIN_KUBESPAN_MTU}`, "mtu");
    }
    for (const subnet of pickTexts(value, "filters.endpoints")) {
      if (isSubnet(subnet)) continue;
      const message = `KubeSpan endpoint filter is not valid: ${quote(subnet.replace(/^!/, ""))}`;
      addError(checks, message, "filters.endpoints");
    }
  },
  NetworkRuleConfig: checkRule,
  ResolverConfig: checkResolver,
  RoutingRuleConfig: checkRoutingRule,
  StaticHostConfig: (checks, value) => {
    requireName(checks, value, "name is required");
    if (canonicalAddress(pickText(value, "name")) === undefined) {
      addError(checks, "name must be a valid IP address", "name");
    }
    if (pickList(value, "hostnames").length === 0) {
      addError(checks, "at least one hostname is required", "hostnames");
    }
  },
  TCPProbeConfig: (checks, value) => {
    requireName(checks, value, "probe name is required");
    if (pickText(value, "endpoint") === "") {
      addError(checks, "TCP probe endpoint is required", "endpoint");
    }
    checkProbe(checks, value, "TCP");
  },
  TimeSyncConfig: checkTimeSync,
};

function checkDhcp(checks: Checks, value: Fields): void {
  requireName(checks, value);
  const hasDuid = pickText(value, "duidRaw") !== "";
  const usesDuid = pickText(value, "clientIdentifier") === "duid";
  if (hasDuid && !usesDuid) {
    addError(checks, "duidRaw can only be set if clientIdentifier is 'duid'", "duidRaw");
  }
  if (usesDuid && !hasDuid) {
    addError(checks, "duidRaw must be set if clientIdentifier is 'duid'", "duidRaw");
  }
}

function checkHostname(checks: Checks, value: Fields): void {
  const auto = pick(value, "auto");
  const hostname = pickText(value, "hostname");
  if (auto === undefined && hostname === "") {
    addError(checks, "either 'auto' or 'hostname' must be set", "hostname");
  }
  if (auto !== undefined && auto !== "off" && hostname !== "") {
    addError(checks, "'auto' and 'hostname' cannot be set at the same time", "hostname");
  }
  if (auto === "talos-addr") addError(checks, "invalid value for 'auto': talos-addr", "auto");
  if (hostname === "") return;
  if (hostname.length > 253) addError(checks, `fqdn is too long: ${hostname.length}`, "hostname");
  const [label = ""] = hostname.split(".");
  if (label.length === 0 || label.length > 63) {
    addError(checks, `invalid hostname ${quote(label)}`, "hostname");
  }
}

function checkRule(checks: Checks, value: Fields): void {
  const ports = pickList(value, "portSelector.ports").map((range) => {
    const [low = 0, high = low] = String(range).split("-").map(Number);
    return { low, high };
  }).sort((a, b) => a.low - b.low);
  if (pickText(value, "name") === "") {
    addError(checks, "name is required", "name");
    return;
  }
  if (ports.length === 0) {
    addError(checks, "portSelector.ports is required", "portSelector.ports");
    return;
  }
  for (const [i, { low, high }] of ports.entries()) {
    const before = ports[i - 1];
    const overlaps = before !== undefined && low <= before.high;
    if (low <= high && !overlaps) continue;
    const message = `invalid port range: ${low}-${high}` +
      (low <= high && before !== undefined ? `, overlaps with ${before.low}-${before.high}` : "");
    addError(checks, message, "portSelector.ports");
    return;
  }
  for (const [i, rule] of pickList(value, "ingress").entries()) {
    if (pickText(rule, "subnet") !== "") continue;
    addError(checks, "invalid subnet: invalid Prefix", `ingress[${i}].subnet`);
    return;
  }
}

function checkResolver(checks: Checks, value: Fields): void {
  const isOn = isTrue(value, "hostDNS.enabled");
  for (const field of ["forwardKubeDNSToHost", "resolveMemberNames"]) {
    if (isOn || !isTrue(value, `hostDNS.${field}`)) continue;
    const message = `hostDNS.${field} cannot be enabled when hostDNS.enabled is false`;
    addError(checks, message, `hostDNS.${field}`);
  }
  const servers = pickList(value, "nameservers");
  let encrypted = 0;
  for (const [i, server] of servers.entries()) {
    const protocol = pickText(server, "protocol") || "Do53";
    const hasName = pickText(server, "tlsServerName") !== "";
    const path = `nameservers[${i}]`;
    if (protocol !== "Do53") encrypted++;
    if (protocol === "Do53" ? hasName : !hasName) {
      const want = protocol === "Do53" ? "must be empty" : "must be set";
      addError(checks, `tlsServerName ${want} when protocol is ${protocol}: entry ${i}`, path);
    }
    if (pickText(server, "address") === "") {
      addError(checks, `nameserver address must be a valid IP: entry ${i}`, path);
    }
  }
  if (encrypted > 0 && encrypted === servers.length) {
    addWarning(
      checks,
      "all configured nameservers use encrypted DNS (DoT or DoH): validating certificates requires " +
        "a correct system clock, so boot may stall when NTP servers are configured by hostname; " +
        "consider keeping at least one plain-DNS fallback or configuring NTP servers by IP address",
      "nameservers",
    );
  }
}

/** Priorities that the kernel and KubeSpan use themselves. */
const RESERVED_PRIORITIES = [0, 32_500, 32_766, 32_767];

function checkRoutingRule(checks: Checks, value: Fields): void {
  const name = pickText(value, "name");
  requireName(checks, value);
  if (!/^\d+$/.test(name) || Number(name) >= 2 ** 32) {
    const reason = /^\d+$/.test(name) ? "value out of range" : "invalid syntax";
    addError(
      checks,
      "invalid name: must be priority parsable unsigned integer: " +
        `strconv.ParseUint: parsing ${quote(name)}: ${reason}`,
      "name",
    );
  }
  // What is no number counts as zero, which is reserved.
  if (RESERVED_PRIORITIES.includes(Number(name) || 0)) {
    const reserved = RESERVED_PRIORITIES.join(" ");
    const message =
      `priority must be between 1 and 32765 (excluding reserved priorities [${reserved}])`;
    addError(checks, message, "name");
  }
  const action = pickText(value, "action") || "unspec";
  if (pickText(value, "table") === "" && (action === "unspec" || action === "unicast")) {
    addError(checks, "either table or a non-unicast action must be specified", "table");
  }
  if (pickNumber(value, "fwMask") !== 0 && pickNumber(value, "fwMark") === 0) {
    addError(checks, "fwMask requires fwMark to be set", "fwMask");
  }
}

function checkProbe(checks: Checks, value: Fields, what: string): void {
  const timeout = pickText(value, "timeout");
  if (timeout.startsWith("-")) {
    addError(checks, `${what} probe timeout cannot be negative: ${timeout}`, "timeout");
  }
  const interval = pickText(value, "interval");
  if (interval.startsWith("-")) {
    addError(checks, `probe interval cannot be negative: ${interval}`, "interval");
  }
  const threshold = pickNumber(value, "failureThreshold");
  if (threshold < 0) {
    const message = `probe failure threshold cannot be negative: ${threshold}`;
    addError(checks, message, "failureThreshold");
  }
}

function checkTimeSync(checks: Checks, value: Fields): void {
  if (pickText(value, "bootTimeout").startsWith("-")) {
    addError(checks, "bootTimeout cannot be negative", "bootTimeout");
  }
  if (pick(value, "ntp") !== undefined && pick(value, "ptp") !== undefined) {
    addError(checks, "only one of ntp or ptp configuration can be specified", "ptp");
  }
  if (!isTrue(value, "ntp.useNTS")) return;
  for (const server of pickTexts(value, "ntp.servers")) {
    if (canonicalAddress(server) === undefined) continue;
    addError(checks, `NTS requires hostnames, not IP addresses: ${quote(server)}`, "ntp.servers");
  }
}
