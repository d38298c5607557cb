// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Measures generating and patching machine configurations, beside Talos's own library where Go is
 * installed: both on one core, one after the other, with the same inputs.
 *
 * @module
 */

import { join } from "node:path";
import {
  type Bundle,
  bundleFromJson,
  bundleToJson,
  bundleToYaml,
  generateBundle,
} from "../../talos/config/bundle.ts";
import { parseContract } from "../../talos/config/contract.ts";
import { generateConfig } from "../../talos/config/generate.ts";
import type { GenerateInput } from "../../talos/config/generate_input.ts";
import { applyPatches } from "../../talos/config/patch.ts";
import { validateConfig } from "../../talos/config/validate.ts";
import { buildMachinery } from "../compat/machinery/machinery.ts";

/** How long each figure is measured; the Go program takes as long. */
const MEASURE_FOR_MS = 2000;

/** Machines of the cluster whose configurations are made in slices. */
const MACHINES = 1000;

const PATCHES = [
  `machine:
  certSANs:
    - cluster.example.org
  kubelet:
    extraArgs:
      rotate-server-certificates: "true"
  sysctls:
    net.core.somaxconn: "1024"
cluster:
  network:
    podSubnets:
      - 10.42.0.0/16
`,
  `machine:
  kubelet:
    nodeIP:
      validSubnets:
        - 10.0.0.0/8
  sysctls:
    net.core.somaxconn: "4096"
  nodeLabels:
    pool: blue
`,
  `machine:
  certSANs:
    - node-1.example.org
  nodeLabels:
    pool: green
`,
];

function print(name: string, value: number, unit: string): void {
  console.log(JSON.stringify({ name, value, unit }));
}

function measure(run: () => void): number {
  for (let i = 0; i < 50; i++) run();
  const start = performance.now();
  let count = 0;
  while (performance.now() - start < MEASURE_FOR_MS) {
    run();
    count++;
  }
  return count / ((performance.now() - start) / 1000);
}

/** The CPU time of the main thread where the system tells it, else the time of the clock. */
function mainThreadMs(): number {
  try {
    const text = Deno.readTextFileSync(`/proc/${Deno.pid}/task/${Deno.pid}/schedstat`);
    return Number(text.split(" ")[0]) / 1e6;
  } catch {
    return performance.now();
  }
}

/**
 * Runs a task and returns the longest time for which the thread did not come back.
 *
 * It counts the work of the thread alone, so that a busy machine does not change the figure.
 */
async function longestBlockMs(task: () => Promise<void>): Promise<number> {
  let longest = 0;
  let last = mainThreadMs();
  const ticker = setInterval(() => {
    const now = mainThreadMs();
    longest = Math.max(longest, now - last);
    last = now;
  }, 1);
  try {
    await task();
  } finally {
    clearInterval(ticker);
  }
  return longest;
}

function inputOf(bundle: Bundle, sans: readonly string[] = []): GenerateInput {
  return {
    bundle,
    clusterName: "bench",
    endpoint: "https://bench.example.org:6443",
    kubernetesVersion: "1.33.1",
    contract: parseContract("v1.12"),
    machineType: "controlplane",
    options: { installDisk: "/dev/sda", additionalSubjectAltNames: sans },
  };
}

/** Makes, patches and checks the configuration of every machine, one a turn of the event loop. */
async function configureCluster(bundle: Bundle): Promise<void> {
  const stored = bundleToJson(bundle);
  for (let i = 0; i < MACHINES; i++) {
    // The server reads the stored secrets again for every machine.
    const input = inputOf(bundleFromJson(stored), [`node-${i}`]);
    const config = applyPatches(generateConfig(input), PATCHES);
    const findings = validateConfig(config, { mode: "metal", talosVersion: "v1.12.0" });
    if (findings.length > 0) throw new Error(`Cannot use configuration: ${findings[0]?.message}`);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

async function main(): Promise<void> {
  const contract = parseContract("v1.12");
  let bundle = await generateBundle({ contract, nowMs: Date.now() });
  const bundleBlock = await longestBlockMs(async () => {
    bundle = await generateBundle({ contract, nowMs: Date.now() });
  });
  print("config longest block making a bundle with an RSA key", bundleBlock, "ms");
  const generated = generateConfig(inputOf(bundle));
  const generate = measure(() => generateConfig(inputOf(bundle)));
  const patch = measure(() => applyPatches(generated, PATCHES));
  print("config generate", generate, "1/s");
  print("config patch", patch, "1/s");
  let seconds = 0;
  const clusterBlock = await longestBlockMs(async () => {
    const start = performance.now();
    await configureCluster(bundle);
    seconds = (performance.now() - start) / 1000;
  });
  print(`config generate, patch and check ${MACHINES} machines`, seconds, "s");
  print(`config longest block with ${MACHINES} machines`, clusterBlock, "ms");
  await compareWithGo(bundle, { generate, patch });
}

async function compareWithGo(
  bundle: Bundle,
  ours: Readonly<Record<string, number>>,
): Promise<void> {
  const { program, reason } = await buildMachinery();
  if (program === undefined) {
    console.error(`without Talos's own library: ${reason}`);
    return;
  }
  const folder = await Deno.makeTempDir();
  try {
    const bundleFile = join(folder, "bundle.yaml");
    await Deno.writeTextFile(bundleFile, bundleToYaml(bundle));
    const patchFiles = await Promise.all(PATCHES.map(async (text, i) => {
      const file = join(folder, `patch-${i}.yaml`);
      await Deno.writeTextFile(file, text);
      return file;
    }));
    const { stdout } = await new Deno.Command(program, {
      args: ["bench", bundleFile, ...patchFiles],
      stderr: "inherit",
    }).output();
    for (const line of new TextDecoder().decode(stdout).trim().split("\n")) {
      const { name, value, unit } = JSON.parse(line);
      print(name, value, unit);
      const what = String(name).split(" ")[1] ?? "";
      print(`config ${what}, ours against Go`, (ours[what] ?? 0) / value, "x");
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

if (import.meta.main) await main();
