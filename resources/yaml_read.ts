// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * From the text form of a spec back to its message: what `apply` and `edit` send.
 *
 * Keys are read in any case and with or without underscores, so that the server's own text, the field
 * names of the contract and their camel case all work.
 *
 * @module
 */

import {
  create,
  type DescField,
  type DescMessage,
  type DescOneof,
  type Message,
  type MessageShape,
  ScalarType,
} from "@bufbuild/protobuf";
import { CodedError } from "../base/errors.ts";

/** Returns the key that the text form shows for a field name; every way to write a key leads to it. */
export function keyOf(name: string): string {
  return name.replaceAll("_", "").toLowerCase();
}

/** Notes what is wrong, by path. */
type Problems = string[];

function describe(value: unknown): string {
  if (value === null || value === undefined) return "nothing";
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" ? "a mapping" : JSON.stringify(String(value));
}

function asMapping(
  value: unknown,
  path: string,
  problems: Problems,
): Readonly<Record<string, unknown>> {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    return value as Record<string, unknown>;
  }
  problems.push(`${path || "spec"} must be a mapping, not ${describe(value)}`);
  return {};
}

function readWhole(value: unknown, path: string, big: boolean, problems: Problems): unknown {
  const whole = typeof value === "bigint"
    ? value
    : typeof value === "number" && Number.isInteger(value)
    ? BigInt(value)
    : typeof value === "string" && /^[-+]?[0-9]+$/.test(value)
    ? BigInt(value)
    : undefined;
  if (whole !== undefined) return big ? whole : Number(whole);
  problems.push(`${path} must be a whole number, not ${describe(value)}`);
  return big ? 0n : 0;
}

function readBytes(value: unknown, path: string, problems: Problems): Uint8Array {
  if (typeof value === "string") {
    try {
      return Uint8Array.fromBase64(value);
    } catch {
      problems.push(`${path} must be base64 or a list of byte values`);
      return new Uint8Array();
    }
  }
  const items = Array.isArray(value) ? value.map(Number) : undefined;
  if (items?.every((item) => Number.isInteger(item) && item >= 0 && item <= 255)) {
    return Uint8Array.from(items);
  }
  problems.push(`${path} must be base64 or a list of byte values, not ${describe(value)}`);
  return new Uint8Array();
}

const BIG: ReadonlySet<ScalarType> = new Set([
  ScalarType.INT64,
  ScalarType.UINT64,
  ScalarType.SINT64,
  ScalarType.FIXED64,
  ScalarType.SFIXED64,
]);

function readScalar(type: ScalarType, value: unknown, path: string, problems: Problems): unknown {
  switch (type) {
    case ScalarType.STRING:
      // A version such as 1.10 without quotes is a number by now and has lost its last digit.
      if (typeof value === "string") return value;
      problems.push(`${path} must be a text, not ${describe(value)}; put it in quotes`);
      return "";
    case ScalarType.BOOL:
      if (typeof value === "boolean") return value;
      problems.push(`${path} must be true or false, not ${describe(value)}`);
      return false;
    case ScalarType.BYTES:
      return readBytes(value, path, problems);
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
      if (typeof value === "number" || typeof value === "bigint") return Number(value);
      problems.push(`${path} must be a number, not ${describe(value)}`);
      return 0;
    default:
      return readWhole(value, path, BIG.has(type), problems);
  }
}

function readEnum(
  field: DescField & { enum: { values: readonly { name: string; number: number }[] } },
  value: unknown,
  path: string,
  problems: Problems,
): number {
  const { values } = field.enum;
  const named = values.find(({ name }) =>
    typeof value === "string" && name.toLowerCase() === value.toLowerCase()
  );
  if (named !== undefined) return named.number;
  // The contract's numbers may be newer than the names that we know.
  if (typeof value === "number" && Number.isInteger(value)) return value;
  if (typeof value === "bigint") return Number(value);
  const known = values.map(({ name, number }) => `${name} (${number})`).join(", ");
  problems.push(`${path} must be one of ${known}, not ${describe(value)}`);
  return 0;
}

function readElement(field: DescField, value: unknown, path: string, problems: Problems): unknown {
  if (field.message !== undefined) return readMessage(field.message, value, path, problems);
  if (field.scalar !== undefined) return readScalar(field.scalar, value, path, problems);
  if (field.enum !== undefined) return readEnum(field, value, path, problems);
  return undefined;
}

function readField(field: DescField, value: unknown, path: string, problems: Problems): unknown {
  switch (field.fieldKind) {
    case "list":
      if (Array.isArray(value)) {
        return value.map((item, index) => readElement(field, item, `${path}[${index}]`, problems));
      }
      problems.push(`${path} must be a list, not ${describe(value)}`);
      return [];
    case "map": {
      const entries = Object.entries(asMapping(value, path, problems));
      return Object.fromEntries(
        entries.map(([key, item]) => [key, readElement(field, item, `${path}.${key}`, problems)]),
      );
    }
    default:
      return readElement(field, value, path, problems);
  }
}

function readOneof(oneof: DescOneof, value: unknown, path: string, problems: Problems): unknown {
  const entries = Object.entries(asMapping(value, path, problems));
  const [[key, content] = ["", undefined]] = entries;
  const field = oneof.fields.find(({ name }) => keyOf(name) === keyOf(key));
  if (field === undefined || entries.length !== 1) {
    const names = oneof.fields.map(({ name }) => name).join(", ");
    problems.push(`${path} must have exactly one of ${names}`);
    return { case: undefined };
  }
  return { case: field.localName, value: readField(field, content, `${path}.${key}`, problems) };
}

const TIMESTAMP = "google.protobuf.Timestamp";

function readMessage(
  desc: DescMessage,
  value: unknown,
  path: string,
  problems: Problems,
): Message {
  const message = create(desc) as Message & Record<string, unknown>;
  if (desc.typeName === TIMESTAMP && typeof value === "string") {
    const ms = Date.parse(value);
    if (Number.isNaN(ms)) problems.push(`${path} must be a time, not ${describe(value)}`);
    else {
      message.seconds = BigInt(Math.floor(ms / 1000));
      message.nanos = (ms - Math.floor(ms / 1000) * 1000) * 1_000_000;
    }
    return message;
  }
  const members = new Map<string, DescField | DescOneof>();
  for (const field of desc.fields) {
    const member = field.oneof ?? field;
    members.set(keyOf(member.name), member);
  }
  for (const [key, content] of Object.entries(asMapping(value, path, problems))) {
    const at = path === "" ? key : `${path}.${key}`;
    const member = members.get(keyOf(key));
    if (member === undefined) {
      const known = [...members.keys()].join(", ");
      problems.push(`${at} is not a field of ${desc.typeName}; its fields are ${known}`);
    } else if (content !== null && content !== undefined) {
      message[member.localName] = member.kind === "oneof"
        ? readOneof(member, content, at, problems)
        : readField(member, content, at, problems);
    }
  }
  return message;
}

/**
 * Reads a spec from the values of its text; what is absent or null keeps its default.
 *
 * @throws CodedError `invalidArgument` naming every field that cannot be read.
 */
export function readYamlSpec<S extends DescMessage>(schema: S, value: unknown): MessageShape<S> {
  const problems: Problems = [];
  const message = readMessage(schema, value ?? {}, "", problems);
  if (problems.length > 0) {
    throw new CodedError("invalidArgument", `Cannot read the spec: ${problems.join("; ")}`, {
      details: { problems },
    });
  }
  return message as MessageShape<S>;
}
