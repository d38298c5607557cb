// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Runs the tests that need a kernel with WireGuard in a small virtual machine.
 *
 * Usage: `test_vm.ts [test modules and options of deno test]`. The machine is emulated, so it needs
 * no virtualisation and nothing of it is fast. Its root is made of this repository, the runtime and
 * a few programs of this system; its kernel is Debian's, downloaded once into `dist/vm`, or what
 * `BATUTA_VM_KERNEL` names: a folder with `boot/vmlinuz-VERSION` and `lib/modules/VERSION`. All that
 * the machine prints is shown; the last line is `rc=N` with the exit code of the tests.
 *
 * @module
 */

import { dirname, join } from "node:path";
import { listFiles, ROOT } from "./tree.ts";

/** The tests that run there. */
const TESTS = [
  "tests/integration/kernel_wireguard_test.ts",
  "tests/integration/kernel_server_test.ts",
];

/** What the machine gets from this system. */
const PROGRAMS = ["ip", "wg", "tc", "setpriv"];
/** What only this script needs. */
const TOOLS = ["qemu-system-x86_64", "busybox", "ldd"];
const PACKAGES = "qemu-system-x86 busybox-static iproute2 wireguard-tools util-linux";

/** Modules of the kernel, and what they need. */
const MODULES = ["wireguard", "tun", "veth", "sch_ingress", "cls_bpf"];
const APPLETS = [
  ...["sh", "mount", "modprobe", "poweroff", "cat", "mkdir", "ping", "env", "timeout"],
];

/** How long the machine may run, in ms: an emulated processor is some ten times slower. */
const DEADLINE_MS = 600_000;
const MEMORY_MIB = 3072;
const FOLDER = join(ROOT, "dist/vm");

interface Kernel {
  readonly folder: string;
  readonly version: string;
}

/** Runs a program that must succeed; returns what it prints. */
async function run(command: string, args: readonly string[], cwd = FOLDER): Promise<string> {
  const output = await new Deno.Command(command, { args: [...args], cwd, stdin: "null" }).output();
  const text = new TextDecoder().decode(output.stdout);
  if (output.success) return text;
  const errors = new TextDecoder().decode(output.stderr);
  throw new Error(`Cannot run ${command} ${args.join(" ")}: ${errors}${text}`);
}

/** Where a program is; `undefined` when it is not installed. */
async function find(program: string): Promise<string | undefined> {
  const { success, stdout } = await new Deno.Command("sh", {
    args: ["-c", `PATH=$PATH:/usr/sbin:/sbin command -v ${program}`],
  }).output();
  return success ? new TextDecoder().decode(stdout).trim() : undefined;
}

/** The kernel that was named, or Debian's newest for cloud machines, unpacked. */
async function findKernel(): Promise<Kernel> {
  const named = Deno.env.get("BATUTA_VM_KERNEL");
  const folder = named ?? join(FOLDER, "kernel");
  if (named === undefined && !await exists(join(folder, "boot"))) await downloadKernel(folder);
  for await (const { name } of Deno.readDir(join(folder, "boot"))) {
    if (name.startsWith("vmlinuz-")) return { folder, version: name.slice("vmlinuz-".length) };
  }
  throw new Error(`Cannot find a kernel: no "vmlinuz-VERSION" in "${folder}/boot"`);
}

async function downloadKernel(folder: string): Promise<void> {
  if (await find("apt-get") === undefined) {
    throw new Error("Cannot download a kernel without apt-get: name one in BATUTA_VM_KERNEL");
  }
  const text = await run("apt-cache", ["depends", "linux-image-cloud-amd64"]);
  const name = /Depends: (linux-image-\S+)/.exec(text)?.[1];
  if (name === undefined) {
    throw new Error('Cannot find package "linux-image-cloud-amd64": run "apt-get update"');
  }
  console.log(`downloading ${name}`);
  await run("apt-get", ["download", name]);
  for await (const entry of Deno.readDir(FOLDER)) {
    if (!entry.name.endsWith(".deb")) continue;
    await run("dpkg-deb", ["-x", entry.name, folder]);
    await Deno.remove(join(FOLDER, entry.name));
  }
}

async function exists(path: string): Promise<boolean> {
  return await Deno.stat(path).then(() => true, () => false);
}

async function copy(from: string, to: string): Promise<void> {
  await Deno.mkdir(dirname(to), { recursive: true });
  await Deno.copyFile(from, to);
}

/** Copies a program with the libraries that it loads. */
async function copyProgram(path: string, root: string, name: string): Promise<void> {
  await copy(path, join(root, "bin", name));
  const text = await run("ldd", [path]).catch(() => "");
  for (const [library] of text.matchAll(/\/\S+/g)) {
    if (!await exists(join(root, library))) await copy(library, join(root, library));
  }
}

async function copyKernelModules({ folder, version }: Kernel, root: string): Promise<void> {
  const path = `lib/modules/${version}`;
  const needed = new Set(MODULES);
  const order = await Deno.readTextFile(join(folder, path, "modules.order"));
  const files = new Map(
    order.trim().split("\n").map((file) => [nameOf(file), join(path, file)]),
  );
  for (const name of needed) {
    const file = files.get(name);
    if (file === undefined) continue; // It is built in.
    const text = await run("modinfo", ["-F", "depends", join(folder, file)]);
    const softer = await run("modinfo", ["-F", "softdep", join(folder, file)]);
    const names = `${text.trim()},${softer.replace(/pre:|post:/g, "").trim()}`.split(/[\s,]+/);
    for (const other of names) if (other !== "") needed.add(other.replaceAll("-", "_"));
    await copy(join(folder, file), join(root, file));
  }
  for (const name of ["modules.builtin", "modules.order", "modules.builtin.modinfo"]) {
    const file = join(folder, path, name);
    if (await exists(file)) await copy(file, join(root, path, name));
  }
  await run("depmod", ["-b", root, version]);
}

function nameOf(file: string): string {
  return file.replace(/^.*\//, "").replace(/\.ko.*$/, "").replaceAll("-", "_");
}

/** The packages that the tests load, out of the runtime's own store. */
async function copyPackages(tests: readonly string[], root: string): Promise<void> {
  const { npmCache } = JSON.parse(await run(Deno.execPath(), ["info", "--json"], ROOT));
  const wanted = new Map<string, { readonly name: string; readonly version: string }>();
  for (const module of [...tests, "main.ts"]) {
    const graph = JSON.parse(await run(Deno.execPath(), ["info", "--json", module], ROOT));
    for (const [id, found] of Object.entries(graph.npmPackages ?? {})) {
      wanted.set(id, found as { name: string; version: string });
    }
  }
  for await (const { name: registry } of Deno.readDir(npmCache)) {
    for (const { name, version } of wanted.values()) {
      const folder = join(npmCache, registry, name);
      if (!await exists(join(folder, version))) continue;
      const target = join(root, "cache/npm", registry, name);
      await Deno.mkdir(target, { recursive: true });
      // What the lock file tells the runtime, it does not ask the registry for.
      const listing = join(folder, "registry.json");
      const known = await exists(listing) ? [listing] : [];
      await run("cp", ["-r", join(folder, version), ...known, target]);
    }
  }
}

/** The first process: it sets up what a system has, runs the tests and ends the machine. */
function initScript(args: readonly string[]): string {
  return `#!/bin/sh
export PATH=/bin HOME=/tmp DENO_DIR=/cache DENO_NO_UPDATE_CHECK=1 NO_COLOR=1 BATUTA_VM=1
mount -t proc none /proc
mount -t sysfs none /sys
mount -t devtmpfs none /dev
mkdir -p /dev/net /run /var
for module in ${MODULES.join(" ")}; do modprobe $module; done
ip link set lo up
cd /repository
timeout ${DEADLINE_MS / 1000} deno test -A --no-check --cached-only --no-prompt ${args.join(" ")}
echo "rc=$?"
poweroff -f
`;
}

async function buildRoot(
  kernel: Kernel,
  tests: readonly string[],
  options: readonly string[],
): Promise<string> {
  const root = await Deno.makeTempDir({ prefix: "batuta-vm-" });
  for (const name of ["proc", "sys", "dev", "tmp", "run", "etc", "var", "sbin"]) {
    await Deno.mkdir(join(root, name), { recursive: true });
  }
  await copyProgram(Deno.execPath(), root, "deno");
  for (const program of [...PROGRAMS, "busybox"]) {
    await copyProgram(await find(program) ?? "", root, program);
  }
  for (const applet of APPLETS) await Deno.symlink("busybox", join(root, "bin", applet));
  // The kernel starts it by this name.
  await Deno.symlink("../bin/busybox", join(root, "sbin/modprobe"));
  await Deno.symlink("../run", join(root, "var/run"));
  await copyKernelModules(kernel, root);
  await copyPackages(tests, root);
  for (const file of listFiles()) await copy(join(ROOT, file), join(root, "repository", file));
  await Deno.writeTextFile(join(root, "init"), initScript([...options, ...tests]), { mode: 0o755 });
  return root;
}

/** Packs a folder as the kernel's first root. */
async function packRoot(root: string, archive: string): Promise<void> {
  await run("sh", ["-c", `find . | busybox cpio -o -H newc > ${archive}`], root);
}

/** Boots the machine, shows what it prints, and returns the code that the tests ended with. */
async function boot({ folder, version }: Kernel, archive: string): Promise<number> {
  const child = new Deno.Command("qemu-system-x86_64", {
    args: [
      ...["-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2", "-m", String(MEMORY_MIB)],
      ...["-nographic", "-nodefaults", "-no-reboot", "-serial", "stdio"],
      ...["-kernel", join(folder, `boot/vmlinuz-${version}`), "-initrd", archive],
      ...["-append", "console=ttyS0 quiet panic=-1"],
    ],
    stdin: "null",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const timer = setTimeout(() => child.kill("SIGKILL"), DEADLINE_MS);
  let seen = "";
  for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) {
    await Deno.stdout.write(new TextEncoder().encode(text));
    seen = (seen + text).slice(-200);
  }
  clearTimeout(timer);
  await child.status;
  return Number(/^rc=(\d+)/m.exec(seen)?.[1] ?? 1);
}

async function testInMachine(args: readonly string[]): Promise<number> {
  const options = args.filter((arg) => arg.startsWith("-"));
  const modules = args.filter((arg) => !arg.startsWith("-"));
  const tests = modules.length > 0 ? modules : TESTS;
  if (Deno.build.os !== "linux" || Deno.build.arch !== "x86_64") {
    throw new Error("Cannot run the machine: it is made of programs for Linux on x86-64");
  }
  const missing = [];
  for (const program of [...TOOLS, ...PROGRAMS, "modinfo", "depmod"]) {
    if (await find(program) === undefined) missing.push(program);
  }
  if (missing.length > 0) {
    throw new Error(
      `Cannot run the machine without ${missing.join(", ")}: ` +
        `apt-get install --no-install-recommends ${PACKAGES} kmod`,
    );
  }
  await Deno.mkdir(FOLDER, { recursive: true });
  const kernel = await findKernel();
  console.log(`kernel ${kernel.version}; building the root`);
  const root = await buildRoot(kernel, tests, options);
  const archive = await Deno.makeTempFile({ suffix: ".cpio" });
  try {
    await packRoot(root, archive);
    return await boot(kernel, archive);
  } finally {
    await Deno.remove(root, { recursive: true });
    await Deno.remove(archive);
  }
}

if (import.meta.main) {
  try {
    Deno.exit(await testInMachine(Deno.args));
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    Deno.exit(1);
  }
}
