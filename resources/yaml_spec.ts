// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The text form of a spec, as the public client shows it in every command.
 *
 * A mapping of all fields, nothing left out, with keys made from the field names; a few messages have
 * a form of their own, which {@linkcode EXCEPTIONS} lists.
 *
 * @module
 */

import type { DescField, DescMessage, DescOneof, Message } from "@bufbuild/protobuf";
import { ScalarType } from "@bufbuild/protobuf";
import { compareKeys } from "../base/yaml_keys.ts";
import { nodeStyle, writeFloat } from "../base/yaml_scalar.ts";
import { renderYaml, type YamlNode } from "./yaml_layout.ts";
import { keyOf } from "./yaml_read.ts";

/** Returns the content of a compressed field, or `undefined` when it cannot be read here. */
export type Decompress = (compressed: Uint8Array) => Uint8Array | undefined;

type Fields = Readonly<Record<string, unknown>>;

/** The first power of ten that the client shows as an exponent. */
const FIRST_EXPONENT = 6;

const NULL: YamlNode = { raw: "null" };

/** Messages whose fields are not shown in the order of their numbers. */
const FIELD_ORDER: Readonly<Record<string, readonly number[]>> = {
  "specs.KubernetesUpgradeStatusSpec": [1, 2, 3, 4, 5, 7, 6],
  "specs.LoadBalancerConfigSpec": [2, 4, 3],
  "specs.MachineInstallDiskStatusSpec": [1, 3, 4, 2],
};

/** Messages with a compressed twin of a field: the names of the plain and the compressed one. */
const COMPRESSED: Readonly<Record<string, readonly [plain: string, compressed: string]>> = {
  "specs.ConfigPatchSpec": ["data", "compressedData"],
  "specs.KubernetesManifestGroupSpec": ["data", "compressedData"],
  "specs.RedactedClusterMachineConfigSpec": ["data", "compressedData"],
  "specs.ClusterMachineConfigSpec": ["data", "compressedData"],
  "specs.ClusterMachineConfigStatusSpec": [
    "redactedCurrentMachineConfig",
    "compressedRedactedMachineConfig",
  ],
  "specs.MachineConfigDiffSpec": ["diff", "compressedDiff"],
  "specs.MachinePendingUpdatesSpec": ["configDiff", "compressedConfigDiff"],
};

/** Messages with a form of their own. */
const EXCEPTIONS: Readonly<Record<string, (fields: Fields, decompress: Decompress) => YamlNode>> = {
  "specs.ClusterMachineSpec": ({ kubernetesVersion }) => {
    const text = String(kubernetesVersion);
    return { entries: [["kubernetes_version", { string: text, style: nodeStyle(text) }]] };
  },
  "specs.ClusterMachineConfigPatchesSpec": (fields, decompress) => ({
    entries: [["patches", { items: patchTexts(fields, decompress).map(patchNode) }]],
  }),
  "cosi.resource.meta.NamespaceSpec": ({ description }) => ({
    entries: [["description", stringNode(description)]],
  }),
  "cosi.resource.meta.ResourceDefinitionSpec": definitionNode,
};

function patchTexts(fields: Fields, decompress: Decompress): readonly string[] {
  const compressed = fields.compressedPatches as readonly Uint8Array[];
  if (compressed.length === 0) return fields.patches as readonly string[];
  return compressed.map((patch) => textOf(decompress(patch)));
}

function patchNode(text: string): YamlNode {
  const single = text.startsWith("\n") || text.startsWith(" ");
  return { string: text, style: single ? "single" : nodeStyle(text) };
}

function definitionNode(fields: Fields): YamlNode {
  const columns = fields.printColumns as readonly { name: string; jsonPath: string }[];
  const strings = (value: unknown): YamlNode => ({
    items: (value as readonly string[]).map(stringNode),
  });
  const entries: (readonly [string, YamlNode])[] = [
    ["type", stringNode(fields.resourceType)],
    ["displayType", stringNode(fields.displayType)],
    ["defaultNamespace", stringNode(fields.defaultNamespace)],
    ["aliases", strings(fields.aliases)],
    ["allAliases", strings(fields.allAliases)],
    ["printColumns", {
      items: columns.map(({ name, jsonPath }) => ({
        entries: [["name", stringNode(name)], ["jsonPath", stringNode(jsonPath)]] as const,
      })),
    }],
  ];
  if (fields.sensitivity === 1) entries.push(["sensitivity", { raw: "sensitive" }]);
  return { entries };
}

function textOf(bytes: Uint8Array | undefined): string {
  return bytes === undefined ? "" : new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
}

function stringNode(value: unknown): YamlNode {
  return { string: String(value) };
}

function bytesNode(bytes: Uint8Array): YamlNode {
  return { items: Array.from(bytes, (byte) => ({ raw: String(byte) })) };
}

function scalarNode(type: ScalarType, value: unknown): YamlNode {
  switch (type) {
    case ScalarType.STRING:
      return stringNode(value);
    case ScalarType.BYTES:
      return bytesNode(value as Uint8Array);
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
      return { raw: writeFloat(value as number, FIRST_EXPONENT) };
    default:
      return { raw: String(value) };
  }
}

/** Shows a compressed field's content in its plain twin and nothing in the field itself. */
function withoutCompression(
  { typeName, field }: DescMessage,
  fields: Fields,
  decompress: Decompress,
): Fields {
  const names = COMPRESSED[typeName];
  if (names === undefined) return fields;
  const [plain, compressed] = names;
  const bytes = fields[compressed] as Uint8Array;
  if (bytes.length === 0) return fields;
  const content = decompress(bytes);
  const asBytes = field[plain]?.fieldKind === "scalar" && field[plain].scalar === ScalarType.BYTES;
  const empty = new Uint8Array();
  return {
    ...fields,
    [plain]: asBytes ? content ?? empty : textOf(content),
    [compressed]: empty,
  };
}

/** What a mapping shows for each message type, computed once: fields and oneofs in order. */
const layouts = new WeakMap<DescMessage, readonly (DescField | DescOneof)[]>();

function layoutOf(desc: DescMessage): readonly (DescField | DescOneof)[] {
  const known = layouts.get(desc);
  if (known !== undefined) return known;
  const order = FIELD_ORDER[desc.typeName];
  const rank = (field: DescField): number => order?.indexOf(field.number) ?? field.number;
  const members = new Set<DescField | DescOneof>();
  for (const field of desc.fields.toSorted((left, right) => rank(left) - rank(right))) {
    members.add(field.oneof ?? field);
  }
  const layout = [...members];
  layouts.set(desc, layout);
  return layout;
}

function messageNode(desc: DescMessage, message: Message, decompress: Decompress): YamlNode {
  const own = message as unknown as Fields;
  const exception = EXCEPTIONS[desc.typeName];
  if (exception !== undefined) return exception(own, decompress);
  const fields = withoutCompression(desc, own, decompress);
  return {
    entries: layoutOf(desc).map((member) => {
      const value = fields[member.localName];
      const node = member.kind === "oneof"
        ? oneofNode(member, value as { case?: string; value?: unknown }, decompress)
        : fieldNode(member, value, decompress);
      return [keyOf(member.name), node];
    }),
  };
}

function oneofNode(
  oneof: DescOneof,
  chosen: { readonly case?: string; readonly value?: unknown },
  decompress: Decompress,
): YamlNode {
  const field = oneof.fields.find(({ localName }) => localName === chosen.case);
  if (field === undefined) return NULL;
  return { entries: [[keyOf(field.name), fieldNode(field, chosen.value, decompress)]] };
}

function fieldNode(field: DescField, value: unknown, decompress: Decompress): YamlNode {
  if (value === undefined) return NULL;
  switch (field.fieldKind) {
    case "scalar":
      return scalarNode(field.scalar, value);
    case "enum":
      return { raw: String(value) };
    case "message":
      return messageNode(field.message, value as Message, decompress);
    case "list":
      return {
        items: (value as readonly unknown[]).map((item) => elementNode(field, item, decompress)),
      };
    case "map":
      return {
        entries: Object.entries(value as Fields)
          .toSorted(([left], [right]) => compareMapKeys(field.mapKey, left, right))
          .map(([key, item]) => [key, elementNode(field, item, decompress)]),
        hasRawKeys: field.mapKey !== ScalarType.STRING,
      };
  }
}

function compareMapKeys(type: ScalarType, left: string, right: string): number {
  if (type === ScalarType.STRING) return compareKeys(left, right);
  if (type === ScalarType.BOOL) return left < right ? -1 : 1;
  return BigInt(left) < BigInt(right) ? -1 : 1;
}

function elementNode(
  field: DescField & { fieldKind: "list" | "map" },
  value: unknown,
  decompress: Decompress,
): YamlNode {
  if (field.message !== undefined) {
    return messageNode(field.message, value as Message, decompress);
  }
  if (field.scalar !== undefined) return scalarNode(field.scalar, value);
  return { raw: String(value) };
}

/**
 * Writes a spec as text.
 *
 * @param decompress Reads compressed fields; what it cannot read shows as empty.
 */
export function encodeYamlSpec(
  schema: DescMessage,
  spec: Message,
  decompress: Decompress = () => undefined,
): string {
  return renderYaml(messageNode(schema, spec, decompress));
}
