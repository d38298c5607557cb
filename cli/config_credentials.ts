// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * `batuta config bundle`, `talosconfig` and `kubeconfig`: what is made from secrets.
 *
 * @module
 */

import { Command, Option } from "commander";
import { parseDuration } from "../base/duration.ts";
import { collect, guarded, readText } from "./config_input.ts";
import { usageError } from "./usage.ts";
import { writeOutput } from "./output_write.ts";

interface BundleFlags {
  readonly contract: string;
  readonly from?: string;
  readonly clock?: string;
  readonly output: "yaml" | "json";
}

/** `batuta config bundle`: makes a bundle, or checks one and turns it into the other form. */
export function bundleCommand(): Command {
  return new Command("bundle")
    .description("make the secrets of a cluster, or convert and check them")
    .option("--contract <version>", "Talos version that the cluster is created with", "v1.13")
    .option("--from <file>", "read a bundle, as YAML or JSON, instead of making one")
    .option("--clock <time>", "when authorities begin to be valid; the present if absent")
    .addOption(
      new Option("-o, --output <format>", "form of the bundle").choices(["yaml", "json"])
        .default("yaml"),
    )
    .action(guarded(async (flags: BundleFlags) => {
      const { bundleToJson, bundleToYaml, generateBundle } = await import(
        "../talos/config/bundle.ts"
      );
      const { parseContract } = await import("../talos/config/contract.ts");
      const nowMs = parseClock(flags.clock);
      const bundle = flags.from === undefined
        ? await generateBundle({ contract: parseContract(flags.contract), nowMs })
        : await readBundle(flags.from);
      writeOutput(flags.output === "json" ? bundleToJson(bundle) + "\n" : bundleToYaml(bundle));
    }));
}

interface CredentialFlags {
  readonly bundle: string;
  readonly clusterName: string;
  readonly endpoint: readonly string[];
  readonly node: readonly string[];
  readonly role: readonly string[];
  readonly lifetime: string;
  readonly clock?: string;
}

function credentialCommand(name: string, description: string): Command {
  return new Command(name).description(description)
    .requiredOption("--bundle <file>", "secrets bundle, as YAML or JSON")
    .requiredOption("--cluster-name <name>", "name of the cluster")
    .option("--lifetime <duration>", "how long the certificate is valid", "8760h")
    .option("--clock <time>", "when it begins to be valid; the present if absent");
}

/** `batuta config talosconfig`: client credentials for the machine API. */
export function talosconfigCommand(): Command {
  return credentialCommand("talosconfig", "make client credentials for the machine API")
    .option("--endpoint <address>", "a control plane; may be repeated", collect, [])
    .option("--node <address>", "a machine to address; may be repeated", collect, [])
    .option("--role <role>", "a role, os:admin if none is given; may be repeated", collect, [])
    .action(guarded(async (flags: CredentialFlags) => {
      const { issueTalosClientCertificate } = await import("../talos/config/certificates.ts");
      const { writeTalosconfig } = await import("../talos/config/talosconfig.ts");
      const { certs } = await readBundle(flags.bundle);
      const client = await issueTalosClientCertificate(certs.os, {
        roles: flags.role.length === 0 ? ["os:admin"] : flags.role,
        nowMs: parseClock(flags.clock),
        lifetimeMs: parseLifetime(flags.lifetime),
      });
      writeOutput(writeTalosconfig({
        context: flags.clusterName,
        contexts: new Map([[flags.clusterName, {
          endpoints: flags.endpoint,
          nodes: flags.node,
          ca: certs.os.crt,
          client,
        }]]),
      }));
    }));
}

/** `batuta config kubeconfig`: administrator's credentials for Kubernetes. */
export function kubeconfigCommand(): Command {
  return credentialCommand("kubeconfig", "make administrator's credentials for Kubernetes")
    .requiredOption("--endpoint <url>", "URL of the Kubernetes API")
    .option("--common-name <name>", "name in the certificate", "admin")
    .action(guarded(async (
      flags: Omit<CredentialFlags, "endpoint"> & {
        readonly endpoint: string;
        readonly commonName: string;
      },
    ) => {
      const { issueKubernetesAdminCertificate } = await import("../talos/config/certificates.ts");
      const { writeKubeconfig } = await import("../talos/config/kubeconfig.ts");
      const { certs } = await readBundle(flags.bundle);
      const client = await issueKubernetesAdminCertificate(certs.k8s, {
        commonName: flags.commonName,
        nowMs: parseClock(flags.clock),
        lifetimeMs: parseLifetime(flags.lifetime),
      });
      writeOutput(writeKubeconfig({
        clusterName: flags.clusterName,
        server: flags.endpoint,
        ca: certs.k8s.crt,
        user: { kind: "certificate", client },
      }));
    }));
}

async function readBundle(path: string) {
  const { bundleFromJson, bundleFromYaml } = await import("../talos/config/bundle.ts");
  const text = readText(path);
  return text.trimStart().startsWith("{") ? bundleFromJson(text) : bundleFromYaml(text);
}

function parseClock(text: string | undefined): number {
  if (text === undefined) return Date.now();
  const timeMs = Date.parse(text);
  if (Number.isNaN(timeMs)) {
    throw usageError(
      `--clock wants a time such as 2026-01-02T03:04:05Z: current value is "${text}"`,
    );
  }
  return timeMs;
}

function parseLifetime(text: string): number {
  const seconds = parseDuration(text);
  if (seconds !== undefined && seconds > 0) return seconds * 1000;
  throw usageError(
    `--lifetime wants a duration above zero such as 8760h: current value is "${text}"`,
  );
}
