// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Values of enumerations in the field tables. The first value is the zero value, printed for an
 * absent field that must be printed; an empty text stands for enumerations without one.
 *
 * @module
 */

/** Values by enumeration. */
export const ENUMERATIONS: Readonly<Record<string, readonly string[]>> = {
  AdSelect: ["stable", "bandwidth", "count"],
  ArpAllTargets: ["any", "all"],
  ArpValidate: ["none", "active", "backup", "all", "filter", "filter-active", "filter-backup"],
  AutoHostname: ["off", "talos-addr", "stable"],
  BondMode: [
    "balance-rr",
    "active-backup",
    "balance-xor",
    "broadcast",
    "802.3ad",
    "balance-tlb",
    "balance-alb",
  ],
  BondXmitHashPolicy: ["layer2", "layer3+4", "layer2+3", "encap2+3", "encap3+4"],
  ClientIdentifier: ["none", "mac", "duid"],
  DefaultAction: ["accept", "block"],
  DnsProtocol: ["Do53", "DoT", "DoH"],
  EncryptionProvider: ["none", "luks2"],
  FailOverMac: ["none", "active", "follow"],
  Filesystem: ["none", "xfs", "vfat", "ext4", "iso9660", "swapi", "virtiofs", "btrfs"],
  LacpRate: ["slow", "fast"],
  LvmVolumeType: ["linear", "raid1", "raid0", "raid10"],
  MdLevel: ["raid1"],
  MdMetadata: ["1.0", "1.2"],
  OffOn: ["off", "on"],
  PrimaryReselect: ["always", "better", "failure"],
  Protocol: ["", "icmp", "tcp", "udp", "icmpv6"],
  RoutingRuleAction: ["unspec", "unicast", "blackhole", "unreachable", "prohibit"],
  VlanProtocol: ["", "802.1q", "802.1ad"],
  VolumeType: ["partition", "disk", "tmpfs", "directory", "symlink", "overlay", "external"],
  WolMode: ["", "phy", "unicast", "multicast", "broadcast", "magic", "magicsecure", "filter"],
};
