// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Where things are in etcd.
 *
 * Resources lie at `PREFIX/NAMESPACE/TYPE/HASH`, as other programs of the field lay them out and read
 * them. What is ours alone lies beside the prefix, where a reader of it does not look.
 *
 * @module
 */

import { createHash } from "node:crypto";
import type { Kind, Ref } from "../resource.ts";

const encoder = new TextEncoder();

/** Escapes one segment of a path by the rules that the layout was made with. */
export function escapeSegment(text: string): string {
  return encodeURIComponent(text)
    .replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)
    .replace(/%(24|26|2B|3D|3A|40)/g, (escaped) => decodeURIComponent(escaped));
}

/** The end of the range of all keys that begin with a text, which must not end in U+FFFF. */
export function rangeEnd(prefix: Uint8Array): Uint8Array {
  const end = prefix.slice();
  const last = end.length - 1;
  end[last] = (end[last] ?? 0) + 1;
  return end;
}

/** The keys of one state. */
export interface EtcdLayout {
  /** What the keys of all resources begin with. */
  readonly resources: Uint8Array;
  /** What our own keys begin with. */
  readonly own: Uint8Array;
  readonly revision: Uint8Array;
  readonly epochs: Uint8Array;
  readonly keyCheck: Uint8Array;
  readonly leader: Uint8Array;
  resource(ref: Ref): Uint8Array;
  kind(kind: Kind): Uint8Array;
  /** The kind that one of our own keys is of, `undefined` for other keys. */
  kindOf(key: Uint8Array): Kind | undefined;
}

/** The layout under a prefix such as `/cosi`. */
export function etcdLayout(prefix: string): EtcdLayout {
  const own = `${prefix}.batuta/`;
  const kinds = `${own}kinds/`;
  const path = ({ namespace, type }: Kind): string =>
    `${escapeSegment(namespace)}/${escapeSegment(type)}`;
  return {
    resources: encoder.encode(`${prefix}/`),
    own: encoder.encode(own),
    revision: encoder.encode(`${own}revision`),
    epochs: encoder.encode(`${own}epochs`),
    keyCheck: encoder.encode(`${own}key-check`),
    leader: encoder.encode(`${own}leader`),
    resource: (ref) => {
      const hash = createHash("sha256").update(ref.id).digest("hex");
      return encoder.encode(`${prefix}/${path(ref)}/${hash}`);
    },
    kind: (kind) => encoder.encode(kinds + path(kind)),
    kindOf(key) {
      const text = new TextDecoder().decode(key);
      if (!text.startsWith(kinds)) return undefined;
      const [namespace = "", type = ""] = text.slice(kinds.length).split("/");
      return { namespace: decodeURIComponent(namespace), type: decodeURIComponent(type) };
    },
  };
}
