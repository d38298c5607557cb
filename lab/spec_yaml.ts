// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The YAML text of a machine's resource, from its protobuf message.
 *
 * Talos prints camel-case names (block devices: snake case), leaves out what is empty in wide specs,
 * writes enums as words and addresses as text.
 *
 * @module
 */

import type { DescEnum, DescField, DescMessage, Message, MessageShape } from "@bufbuild/protobuf";
import { isFieldSet } from "@bufbuild/protobuf";
import { reflect } from "@bufbuild/protobuf/reflect";
import { formatIpv6 } from "../link/addresses.ts";
import { writeYaml, type YamlValue } from "../talos/config/yaml_write.ts";

const PACKAGE = "talos.resource.definitions.";

/** Names that are not the camel case of the protobuf field. */
const KEYS: Readonly<Record<string, string>> = {
  "hardware.ProcessorSpec.max_speed": "maxSpeedMhz",
  "hardware.ProcessorSpec.boot_speed": "bootSpeedMhz",
  "hardware.MemoryModuleSpec.size": "sizeMiB",
  "network.LinkStatusSpec.speed_megabits": "speedMbit",
  "runtime.BootIDSpec.boot_id": "bootID",
  "runtime.SecurityStateSpec.se_linux_state": "seLinuxState",
  "runtime.SecurityStateSpec.uki_signing_key_fingerprint": "ukiSigningKeyFingerprint",
  "runtime.SecurityStateSpec.booted_with_uki": "bootedWithUKI",
  "runtime.PlatformMetadataSpec.instance_id": "instanceId",
  "runtime.PlatformMetadataSpec.provider_id": "providerId",
  "etcd.MemberSpec.member_id": "memberID",
  "cluster.IdentitySpec.node_id": "nodeId",
  "cluster.MemberSpec.node_id": "nodeId",
  "cluster.InfoSpec.cluster_id": "clusterId",
};

/** Words for enum values; a value that is not listed prints its lower-cased name. */
const ENUM_PREFIXES: Readonly<Record<string, string>> = {
  "enums.RuntimeMachineStage": "MACHINE_STAGE_",
  "enums.NethelpersLinkType": "LINK_",
  "enums.NethelpersOperationalState": "OPER_STATE_",
  "enums.RuntimeSELinuxState": "SE_LINUX_STATE_",
  "enums.RuntimeFIPSState": "FIPS_STATE_",
  "enums.MachineType": "TYPE_",
  "enums.NethelpersFamily": "FAMILY_",
  "enums.NethelpersRoutingTable": "TABLE_",
  "enums.NethelpersAddressSortAlgorithm": "ADDRESS_SORT_ALGORITHM_",
  "enums.BlockVolumePhase": "VOLUME_PHASE_",
  "enums.BlockVolumeType": "VOLUME_TYPE_",
  "enums.BlockFilesystemType": "FILESYSTEM_TYPE_",
  "enums.BlockEncryptionProviderType": "ENCRYPTION_PROVIDER_",
};

/** Specs in which Talos prints every field, empty or not. */
const COMPLETE = new Set([
  "runtime.MachineStatusSpec",
  "runtime.MachineStatusStatus",
  "runtime.SecurityStateSpec",
  "network.HostnameStatusSpec",
  "network.NodeAddressSpec",
  "v1alpha1.ServiceSpec",
  "runtime.UniqueMachineTokenSpec",
  "runtime.MetaKeySpec",
]);

/** Renders the YAML text of a spec. */
export function specYaml<S extends DescMessage>(schema: S, spec: MessageShape<S>): string {
  return writeYaml(messageValue(schema, spec));
}

function messageValue(schema: DescMessage, message: Message): YamlValue {
  const special = specialValue(schema, message);
  if (special !== undefined) return special;
  const name = schema.typeName.replace(PACKAGE, "");
  const reflected = reflect(schema, message);
  const complete = COMPLETE.has(name);
  const entries: [string, YamlValue][] = [];
  for (const field of schema.fields) {
    if (!isFieldSet(message, field) && !complete) continue;
    if (field.fieldKind === "message" && !reflected.isSet(field)) continue;
    const key = KEYS[`${name}.${field.name}`] ?? keyOf(name, field);
    entries.push([key, fieldValue(field, reflected.get(field))]);
  }
  return Object.fromEntries(entries);
}

function keyOf(messageName: string, field: DescField): string {
  return messageName.startsWith("block.") ? field.name : field.jsonName;
}

function fieldValue(field: DescField, value: unknown): YamlValue {
  switch (field.fieldKind) {
    case "list": {
      const items = [...value as Iterable<unknown>];
      return items.map((item) => itemValue(field, item));
    }
    case "map":
      return new Map([...value as Iterable<[unknown, unknown]>].map(([key, item]) => [
        String(key),
        itemValue(field, item),
      ]));
    default:
      return itemValue(field, value);
  }
}

function itemValue(field: DescField, value: unknown): YamlValue {
  if (field.message !== undefined) {
    return messageValue(field.message, (value as { readonly message: Message }).message);
  }
  if (field.enum !== undefined) return enumWord(field.enum, value as number);
  // Hardware addresses are the only bytes in a spec that a machine prints.
  if (value instanceof Uint8Array) return [...value].map(hexByte).join(":");
  return value as YamlValue;
}

function hexByte(byte: number): string {
  return byte.toString(16).padStart(2, "0");
}

function enumWord(schema: DescEnum, value: number): string {
  const name = schema.value[value]?.name ?? String(value);
  const prefix = ENUM_PREFIXES[schema.typeName.replace(PACKAGE, "")] ?? "";
  const word = name.startsWith(prefix) ? name.slice(prefix.length) : name;
  if (schema.typeName.endsWith(".MachineType")) return word.toLowerCase().replaceAll("_", "");
  const spaced = schema.typeName.endsWith("MachineStage") ? " " : "_";
  return word.toLowerCase().replaceAll("_", spaced);
}

function specialValue(schema: DescMessage, message: Message): YamlValue | undefined {
  if (schema.typeName === "common.NetIP") {
    return formatIp((message as Message & { ip: Uint8Array }).ip);
  }
  if (schema.typeName === "common.NetIPPrefix") {
    const { ip, prefixLength } = message as Message & { ip: Uint8Array; prefixLength: number };
    return `${formatIp(ip)}/${prefixLength}`;
  }
  return undefined;
}

/** Writes an IPv4 or IPv6 address from its bytes. */
export function formatIp(bytes: Uint8Array): string {
  return bytes.length === 4 ? bytes.join(".") : formatIpv6(bytes);
}
