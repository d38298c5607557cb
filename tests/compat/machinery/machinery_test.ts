// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Compares generated configurations with those of Talos's own library: the texts are equal, and its
 * strict loader and its validation for metal accept ours.
 *
 * A run takes random sets of options. `CONFIG_SEED` repeats the run whose seed a failure names.
 */

import assert from "node:assert/strict";
import { join } from "node:path";
import { bundleToYaml, generateBundle } from "../../../talos/config/bundle.ts";
import { parseContract } from "../../../talos/config/contract.ts";
import { generateConfig } from "../../../talos/config/generate.ts";
import type { GenerateOptions, MachineType } from "../../../talos/config/generate_input.ts";
import { applyPatches } from "../../../talos/config/patch.ts";
import { askMachinery, buildMachinery, type Question } from "./machinery.ts";

const SEED = Number(Deno.env.get("CONFIG_SEED") ?? Math.floor(Math.random() * 2 ** 31));

/** Random option sets of a run. */
const OPTION_SETS = 20;

const build = await buildMachinery();
const program = build.program;
const NOTE = program === undefined ? ` (skipped: ${build.reason})` : "";

Deno.test({
  name: `generateConfig() gives what Talos's library gives for contracts 1.2 to 1.13${NOTE}`,
  ignore: program === undefined,
  async fn() {
    if (program === undefined) return;
    const folder = await Deno.makeTempDir();
    try {
      const cases = await makeCases(folder);
      const answers = await askMachinery(program, cases.map(({ question }) => question));
      assert.equal(answers.length, cases.length);
      for (const [i, answer] of answers.entries()) {
        const { name, question } = cases[i] ?? { name: "", question: { config: "" } };
        const where = `${name}, CONFIG_SEED=${SEED}`;
        assert.equal(answer.generateError ?? "", "", where);
        assert.equal(question.config, answer.generated, where);
        assert.equal(answer.loadError ?? "", "", where);
        assert.equal(answer.validationError ?? "", "", where);
      }
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});

interface Case {
  readonly name: string;
  readonly question: Question;
}

async function makeCases(folder: string): Promise<Case[]> {
  const random = randomNumbers(SEED);
  const cases: Case[] = [];
  // Words that YAML 1.1 takes for booleans are left out: versions of the library quote them differently.
  let bundle = await generateBundle({ contract: parseContract("v1.2"), nowMs: Date.now() });
  for (let minor = 2; minor <= 13; minor++) {
    const contract = parseContract(`v1.${minor}`);
    // Secrets change with these contracts; making them takes longest.
    if (minor === 3 || minor === 7) bundle = await generateBundle({ contract, nowMs: Date.now() });
    const bundleFile = join(folder, `bundle-${minor}.yaml`);
    await Deno.writeTextFile(bundleFile, bundleToYaml(bundle));
    for (let set = 0; set < OPTION_SETS; set++) {
      const machineType = pick(random, ["controlplane", "worker"] as const);
      const input = {
        clusterName: pick(random, ["alpha", "1e3", "a-b.c"]),
        endpoint: pick(random, [
          "https://cp.example.org:6443",
          "https://[fdae:41e4:649b:9303::1]:10000",
        ]),
        kubernetesVersion: "1.33.1",
        machineType,
        options: randomOptions(random, minor, machineType),
      };
      const patches = pick(random, PATCHES);
      const generated = generateConfig({ ...input, bundle, contract });
      cases.push({
        name: `contract 1.${minor}, set ${set}`,
        question: {
          ...input,
          bundleFile,
          contract: `v1.${minor}`,
          patches,
          config: applyPatches(generated, patches),
        },
      });
    }
  }
  return cases;
}

const PATCHES: readonly (readonly string[])[] = [
  [],
  ["machine: {nodeLabels: {pool: blue}, sysctls: {net.core.somaxconn: 1024}}\n"],
  [
    "cluster: {network: {podSubnets: [10.42.0.0/16], serviceSubnets: [10.43.0.0/16]}}\n",
    "machine:\n  network:\n    interfaces:\n      - interface: eth0\n        addresses: [10.0.0.2/24]\n",
  ],
  ["apiVersion: v1alpha1\nkind: KmsgLogConfig\nname: logs\nurl: tcp://10.0.0.1:8092\n"],
];

function randomOptions(
  random: () => number,
  minor: number,
  machineType: MachineType,
): GenerateOptions {
  const maybe = <T>(name: string, value: T) => random() < 0.4 ? { [name]: value } : {};
  // From 1.12 on the image holds the arguments, and both together are refused.
  const hasArguments = minor < 12;
  return {
    installDisk: pick(random, ["/dev/sda", "/dev/disk/by-id/a:b"]),
    ...maybe("installImage", "factory.example.org/installer/abc:v1.13.0"),
    ...(hasArguments ? maybe("installExtraKernelArgs", ["console=ttyS0", 'a="b c"']) : {}),
    ...maybe("additionalSubjectAltNames", ["a.example.org", "192.0.2.1", "2001:db8::1"]),
    ...maybe("allowSchedulingOnControlPlanes", true),
    ...maybe("dnsDomain", "corp.example.org"),
    ...(machineType === "controlplane" ? maybe("localAPIServerPort", 7443) : {}),
    ...maybe("kubePrismPort", pick(random, [0, 7445, 17445])),
    ...maybe("sysctls", { "a.b10": "1e3", "a.b9": "0x1", z: "", q: "it's: fine" }),
    ...maybe("customCNIURL", "https://cni.example.org/calico.yaml"),
    ...maybe("registryMirrors", { "ghcr.io": ["https://m.example.org"], "*": ["http://10.0.0.1"] }),
    ...maybe("registryInsecureSkipVerify", ["m.example.org"]),
    ...maybe("debug", true),
    ...maybe("kubeSpanEnabled", false),
    ...maybe("clusterDiscovery", random() < 0.5),
    ...maybe("hostDNSForwardKubeDNSToHost", random() < 0.5),
  };
}

function pick<T>(random: () => number, values: readonly T[]): T {
  const value = values[Math.floor(random() * values.length)];
  if (value === undefined) throw new Error("nothing to pick from");
  return value;
}

/** Numbers from 0 to 1 that a seed determines. */
function randomNumbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
