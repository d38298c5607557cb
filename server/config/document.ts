// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Every key of the configuration document with its default and its rule, in one place.
 *
 * `docs/config.md` is rendered from it.
 *
 * @module
 */

import type { HostPort } from "./address.ts";
import { parseInstallerTemplate } from "./installer_template.ts";
import {
  key,
  list,
  optionalKey,
  requiredKey,
  type Schema,
  section,
  type ValueOf,
} from "./schema.ts";
import {
  parseAnyText,
  parseBind,
  parseDatabasePath,
  parseDnsLabel,
  parseEndpoint,
  parseFlag,
  parseJoinToken,
  parseMachineApiUrl,
  parseOneOf,
  parseOptionalVersion,
  parseOptionalWebUrl,
  parsePortRange,
  parseSize,
  parseText,
  parseTimeSpan,
  parseVersion,
  parseWebUrl,
  parseWhole,
} from "./values.ts";

function flag(fallback: boolean, doc: string): Schema<boolean> {
  return key({ syntax: "true, false", fallback, doc, parse: parseFlag });
}

function bind(fallback: string, doc: string): Schema<HostPort> {
  return key({ syntax: "host:port", fallback, doc, parse: parseBind });
}

function optionalText(syntax: string, doc: string): Schema<string | undefined> {
  return optionalKey({ syntax, doc, parse: parseText });
}

const TLS = section({
  certificate: optionalText("path", "File with the certificate chain in PEM; needs `key` too."),
  key: optionalText("path", "File with the private key in PEM; needs `certificate` too."),
});

/** Where a key of the state comes from. */
const KEY_SOURCE = {
  env: optionalText("name", "Environment variable that holds the key: 32 bytes in base64."),
  credential: optionalText(
    "name",
    "Credential of systemd (`LoadCredentialEncrypted=`) that holds the key, as with `env`.",
  ),
};

const STATE = section({
  kind: key({
    syntax: "sqlite, etcd, kv, memory",
    fallback: "sqlite",
    doc: "The store of the state: one file, an etcd, Deno KV, or none at all.",
    parse(value) {
      if (value !== "boltdb") return parseOneOf(["sqlite", "etcd", "kv", "memory"])(value);
      return { rule: 'is not supported as "boltdb": use "sqlite", which is one file as well' };
    },
  }),
  sqlite: section({
    path: key({
      syntax: "path",
      fallback: "/var/lib/batuta/state.sqlite",
      doc: "File of the state, for kind `sqlite`.",
      parse: parseDatabasePath,
    }),
  }),
  etcd: section({
    endpoints: list(requiredKey({
      syntax: "http(s)://host:port",
      doc: "Client addresses of the etcd members, for kind `etcd`.",
      parse: parseWebUrl,
    })),
    child: section({
      dataDirectory: optionalText(
        "path",
        "Directory of an etcd that the server starts, keeps running and ends itself, instead of " +
          "`endpoints`. It is made where it is missing, and closed to other users.",
      ),
      binary: optionalText("path", "Program of that etcd, 3.4 or newer; without it: `etcd`."),
    }),
    prefix: key({
      syntax: "text",
      fallback: "/cosi",
      doc: "What all keys in etcd begin with.",
      parse: parseText,
    }),
    certificateAuthority: optionalText("path", "File with the authority that signed etcd's own."),
    certificate: optionalText("path", "File with the client's certificate; needs `key` too."),
    key: optionalText("path", "File with the client's private key; needs `certificate` too."),
  }),
  kv: section({
    path: key({
      syntax: "path",
      fallback: "",
      doc: "File of the state, for kind `kv`; empty: where the runtime keeps it.",
      parse: parseAnyText,
    }),
  }),
  key: section({
    ...KEY_SOURCE,
    previous: list(section(KEY_SOURCE)),
  }),
}, { boltdb: "sqlite", bolt: "sqlite" });

const TALOS_VERSION = section({
  version: requiredKey({
    syntax: "version",
    doc: "Version as offered to users: that of an image, or of an upstream release.",
    parse: parseVersion,
  }),
  talos: key({
    syntax: "version",
    fallback: "",
    doc: "Version of Talos inside that image; empty: the same. Configurations are made for it.",
    parse: parseOptionalVersion,
  }),
  kubernetes: list(requiredKey({
    syntax: "version",
    doc: "Versions of Kubernetes that it runs; at least one.",
    parse: parseVersion,
  })),
  deprecated: flag(false, "Whether users are told not to choose it any more."),
});

/** The whole document. */
export const DOCUMENT = section({
  machineApiAdvertisedUrl: requiredKey({
    syntax: "grpc://host:port",
    doc: "Address at which machines reach `siderolink.bindAddress`; `https://` with its `tls`.",
    parse: parseMachineApiUrl,
  }),
  api: section({
    bindAddress: bind("127.0.0.1:8080", "Where the API and `/metrics` listen."),
    allowPublicBind: flag(
      false,
      "Allows a `bindAddress` that other hosts reach. Calls are not authenticated: whoever reaches " +
        "it reads and writes the state.",
    ),
    tls: TLS,
  }),
  siderolink: section({
    bindAddress: bind("0.0.0.0:8090", "Where machines ask to join."),
    initialJoinToken: key({
      syntax: "text",
      fallback: "",
      secret: true,
      doc:
        "Join token that new machines present; empty: one is made at the first start. A changed " +
        "value becomes the default, earlier tokens stay valid.",
      parse: parseJoinToken,
    }),
    allowLocalAdvertised: flag(
      false,
      "Allows advertised addresses that no other machine reaches, for runs on a single host.",
    ),
    tls: TLS,
  }),
  wireguard: section({
    enabled: flag(true, "Without it machines are admitted, but no tunnel exists. For debugging."),
    mode: key({
      syntax: "auto, tun, user, kernel",
      fallback: "auto",
      doc: "How the tunnel meets the host: an interface of ours (`tun`) or none at all (`user`); " +
        "`auto` takes `tun` where it may, else `user`. `kernel` is the kernel's own WireGuard, with " +
        "an interface too; it needs `CAP_NET_ADMIN` and modules of the kernel, and is never taken " +
        "by itself.",
      parse: parseOneOf(["auto", "tun", "user", "kernel"]),
    }),
    port: key({
      syntax: "port",
      fallback: 50180,
      doc: "UDP port of the tunnel, on all interfaces.",
      parse: parseWhole(1, 65535),
    }),
    advertisedEndpoint: optionalKey({
      syntax: "host:port",
      doc: "Address at which machines reach the tunnel; this or `advertisedEndpoints` is required.",
      parse: parseEndpoint,
    }),
    advertisedEndpoints: list(requiredKey({
      syntax: "host:port",
      doc: "Further such addresses, for example one of each IP version.",
      parse: parseEndpoint,
    })),
  }),
  state: STATE,
  machineStore: section({
    path: key({
      syntax: "path",
      fallback: "/var/lib/batuta/machines.sqlite",
      doc: "File of the events and kernel logs of machines.",
      parse: parseDatabasePath,
    }),
    retention: key({
      syntax: "duration",
      fallback: "168h",
      doc: "How long they are kept.",
      parse: parseTimeSpan(1, "above zero"),
    }),
    maximumSizePerMachine: key({
      syntax: "size",
      fallback: "64MiB",
      doc: "How much is kept of one machine; the oldest goes first.",
      parse: parseSize,
    }),
    maximumSize: key({
      syntax: "size",
      fallback: "10GiB",
      doc: "How much is kept of all machines; the oldest goes first.",
      parse: parseSize,
    }),
    encrypt: flag(false, "Whether what is stored is encrypted with the key of the state."),
  }),
  nodeTokens: section({
    strict: flag(false, "Refuses every machine whose node token does not match."),
    reclaimAfter: key({
      syntax: "duration",
      fallback: "10m",
      doc:
        "How long the key of a machine must be silent before its place may be taken without its " +
        "node token.",
      parse: parseTimeSpan(275_000, 'at least "4m35s"'),
    }),
  }),
  loadBalancer: section({
    portRange: key({
      syntax: "first-last",
      fallback: "10000-35000",
      doc: "Ports from which each cluster gets one for its load balancer.",
      parse: parsePortRange,
    }),
  }),
  imageFactory: section({
    baseUrl: key({
      syntax: "URL",
      fallback: "https://factory.altlinux.space",
      doc: "Address of the image factory.",
      parse: parseWebUrl,
    }),
    pxeBaseUrl: key({
      syntax: "URL",
      fallback: "",
      doc: "Address of its PXE side; empty: that of `baseUrl` with `pxe.` before the host.",
      parse: parseOptionalWebUrl,
    }),
    installerImage: key({
      syntax: "template",
      fallback: "",
      doc: "Reference of the installer's image with the fields `{{.Host}}`, `{{.Platform}}`, " +
        "`{{.SecureBoot}}`, `{{.Schematic}}`, `{{.Version}}`; empty: the factory's usual names.",
      parse: parseInstallerTemplate,
    }),
  }),
  compression: section({
    dictionaryPath: key({
      syntax: "path",
      fallback: "",
      doc:
        "File with the dictionary of compressed fields; empty: `config.1.zdict` beside the state.",
      parse: parseAnyText,
    }),
  }),
  talosVersions: list(TALOS_VERSION),
  infraProviders: list(section({
    id: requiredKey({
      syntax: "DNS label",
      doc: "ID with which an infrastructure provider is started.",
      parse: parseDnsLabel,
    }),
  })),
  log: section({
    level: key({
      syntax: "debug, info, warn, error",
      fallback: "info",
      doc: "How much is written to the log.",
      parse: parseOneOf(["debug", "info", "warn", "error"]),
    }),
  }),
});

/** The document as it was read, before rules across keys. */
export type ConfigDocument = ValueOf<typeof DOCUMENT>;
