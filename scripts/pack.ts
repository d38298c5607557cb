// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Packs the runtime and one bundled program into a single executable, without extraction.
 *
 * The file is the `deno` executable with one segment more: a stub, the program and a file with its
 * environment. The stub copies both into anonymous memory files, puts baked arguments in front of
 * the user's, and jumps to where the executable would have started. So the user's arguments never
 * reach the parser of `deno`. For x86-64 Linux with glibc.
 *
 * @module
 */

/** What goes into an executable. */
export interface PackInput {
  /** The `deno` executable. */
  readonly runtime: Uint8Array;
  /** The program as one JavaScript module. */
  readonly program: Uint8Array;
  /** Permissions and unstable features, as `deno run` takes them. */
  readonly flags: readonly string[];
}

/**
 * The file descriptor of the program; the next one is the environment's. High, so that it does not
 * meet those the program inherits; the soft limit of open files must be above both.
 */
const PROGRAM_FD = 200;
const ENVIRONMENT_FD = PROGRAM_FD + 1;

/** Without this the runtime looks up its release host in every run. */
const ENVIRONMENT = "DENO_NO_UPDATE_CHECK=1\n";

const PAGE_BYTES = 4096;

// Numbers of the ELF-64 format and of the x86-64 system calls of Linux.
const ELF = { magic: 0x7f454c46, x86_64: 62, load: 1, note: 4, headerBytes: 56, readExecute: 5 };
const SYSCALL = { write: 1, close: 3, fcntl: 72, exitGroup: 231, memfdCreate: 319 };
const MFD_CLOEXEC = 1;
const F_DUPFD_CLOEXEC = 1030;

/** The parts of an ELF file that the packer changes. */
interface ElfLayout {
  readonly entry: number;
  /** Offset of the program header that becomes the new segment's. */
  readonly noteHeader: number;
  /** The first page that neither the file nor its memory image uses. */
  readonly freeOffset: number;
}

function readLayout(view: DataView): ElfLayout {
  const u64 = (offset: number): number => Number(view.getBigUint64(offset, true));
  if (view.getUint32(0) !== ELF.magic || view.getUint16(18, true) !== ELF.x86_64) {
    throw new Error("Cannot pack: the runtime is not an executable for x86-64 Linux");
  }
  const headers = u64(32);
  const count = view.getUint16(56, true);
  let end = view.byteLength;
  let noteHeader: number | undefined;
  for (let index = 0; index < count; index++) {
    const header = headers + ELF.headerBytes * index;
    const type = view.getUint32(header, true);
    if (type === ELF.load) end = Math.max(end, u64(header + 16) + u64(header + 40));
    // Loadable segments must be sorted by address: only the last header can become the highest.
    if (type === ELF.note && index === count - 1) noteHeader = header;
  }
  if (noteHeader === undefined) {
    throw new Error("Cannot pack: the last program header of the runtime is not a note");
  }
  return { entry: u64(24), noteHeader, freeOffset: Math.ceil(end / PAGE_BYTES) * PAGE_BYTES };
}

/** Collects machine code and the places that refer to labels. */
interface Assembler {
  bytes(...bytes: readonly number[]): void;
  int32(value: number): void;
  /** Emits the distance to a label, as instructions that are relative to the next one take it. */
  distanceTo(label: string): void;
  label(name: string): void;
  systemCall(number: number): void;
  /** Emits data under a label. */
  data(label: string, data: Uint8Array): void;
  /** The segment, with the given labels outside of it, relative to its start. */
  link(outside: Readonly<Record<string, number>>): Uint8Array;
}

function createAssembler(): Assembler {
  const code: number[] = [];
  const blocks: Uint8Array[] = [];
  const labels = new Map<string, number>();
  const references: { readonly at: number; readonly label: string }[] = [];
  let size = 0;
  const bytes = (...values: readonly number[]): void => {
    if (blocks.length > 0) throw new Error("Cannot emit code after data");
    code.push(...values);
    size += values.length;
  };
  const int32 = (value: number): void =>
    bytes(value & 255, value >> 8 & 255, value >> 16 & 255, value >> 24 & 255);
  return {
    bytes,
    int32,
    distanceTo(label) {
      references.push({ at: size, label });
      int32(0);
    },
    label: (name) => void labels.set(name, size),
    systemCall(number) {
      bytes(0xb8); // mov eax, number
      int32(number);
      bytes(0x0f, 0x05); // syscall
    },
    data(label, data) {
      labels.set(label, size);
      blocks.push(data);
      size += data.length;
    },
    link(outside) {
      const segment = new Uint8Array(size);
      segment.set(code);
      let offset = code.length;
      for (const block of blocks) {
        segment.set(block, offset);
        offset += block.length;
      }
      const view = new DataView(segment.buffer);
      for (const { at, label } of references) {
        const target = outside[label] ?? labels.get(label);
        if (target === undefined) throw new Error(`Undefined label "${label}"`);
        view.setInt32(at, target - (at + 4), true);
      }
      return segment;
    },
  };
}

/** Copies data into a new memory file and gives that the wanted descriptor. */
function emitMemoryFile(asm: Assembler, data: string, sizeBytes: number, fd: number): void {
  asm.bytes(0x48, 0x8d, 0x3d); // lea rdi, [name]
  asm.distanceTo("name");
  asm.bytes(0xbe); // mov esi, flags
  asm.int32(MFD_CLOEXEC);
  asm.systemCall(SYSCALL.memfdCreate);
  asm.bytes(0x85, 0xc0, 0x0f, 0x88); // test eax, eax; js fail
  asm.distanceTo("fail");
  asm.bytes(0x41, 0x89, 0xc5); // mov r13d, eax
  asm.bytes(0x48, 0x8d, 0x1d); // lea rbx, [data]
  asm.distanceTo(data);
  asm.bytes(0x41, 0xbc); // mov r12d, size
  asm.int32(sizeBytes);
  asm.label(`write ${data}`); // A write may be partial, so it is repeated until all is written.
  asm.bytes(0x44, 0x89, 0xef); // mov edi, r13d
  asm.bytes(0x48, 0x89, 0xde); // mov rsi, rbx
  asm.bytes(0x4c, 0x89, 0xe2); // mov rdx, r12
  asm.systemCall(SYSCALL.write);
  asm.bytes(0x48, 0x85, 0xc0, 0x0f, 0x8e); // test rax, rax; jle fail
  asm.distanceTo("fail");
  asm.bytes(0x48, 0x01, 0xc3); // add rbx, rax
  asm.bytes(0x49, 0x29, 0xc4, 0x0f, 0x85); // sub r12, rax; jnz write
  asm.distanceTo(`write ${data}`);
  asm.bytes(0x44, 0x89, 0xef, 0xbe); // mov edi, r13d; mov esi, command
  asm.int32(F_DUPFD_CLOEXEC);
  asm.bytes(0xba); // mov edx, fd
  asm.int32(fd);
  asm.systemCall(SYSCALL.fcntl);
  asm.bytes(0x3d); // cmp eax, fd
  asm.int32(fd);
  asm.bytes(0x0f, 0x85); // jne fail
  asm.distanceTo("fail");
  asm.bytes(0x44, 0x89, 0xef); // mov edi, r13d
  asm.systemCall(SYSCALL.close);
}

/** Inserts the baked arguments between the program's name and the user's arguments. */
function emitArguments(asm: Assembler, count: number): void {
  asm.bytes(0x4c, 0x89, 0xf6); // mov rsi, r14: the stack as the kernel left it
  asm.bytes(0x49, 0x8d, 0xa6); // lea rsp, [r14 - 8 * count]
  asm.int32(-8 * count);
  asm.bytes(0x48, 0x89, 0xe7); // mov rdi, rsp
  asm.bytes(0x48, 0x8b, 0x0e); // mov rcx, [rsi]: argc
  asm.bytes(0x48, 0x8d, 0x81); // lea rax, [rcx + count]
  asm.int32(count);
  asm.bytes(0x48, 0x89, 0x07); // mov [rdi], rax
  asm.bytes(0x48, 0x8b, 0x46, 0x08, 0x48, 0x89, 0x47, 0x08); // argv[0] stays
  asm.bytes(0x48, 0x83, 0xc6, 0x10, 0x48, 0x83, 0xc7, 0x10); // add rsi, 16; add rdi, 16
  for (let index = 0; index < count; index++) {
    asm.bytes(0x48, 0x8d, 0x05); // lea rax, [argument]
    asm.distanceTo(`argument ${index}`);
    asm.bytes(0x48, 0xab); // stosq
  }
  asm.bytes(0xf3, 0x48, 0xa5); // rep movsq: the user's arguments, as many as argc says
}

/** Ends the process with a message when the stub cannot do its work. */
function emitFailure(asm: Assembler, messageBytes: number): void {
  asm.label("fail");
  asm.bytes(0x48, 0x8d, 0x35); // lea rsi, [message]
  asm.distanceTo("message");
  asm.bytes(0xba); // mov edx, size
  asm.int32(messageBytes);
  asm.bytes(0xbf); // mov edi, standard error
  asm.int32(2);
  asm.systemCall(SYSCALL.write);
  asm.bytes(0xbf); // mov edi, exit code
  asm.int32(127);
  asm.systemCall(SYSCALL.exitGroup);
}

function bakedArguments(flags: readonly string[]): string[] {
  const args = [
    "run",
    "--ext=js",
    "--no-config",
    "--no-lock",
    "--no-npm",
    "--no-remote",
    `--env-file=/proc/self/fd/${ENVIRONMENT_FD}`,
    ...flags,
    `/proc/self/fd/${PROGRAM_FD}`,
  ];
  // The stack pointer must stay a multiple of 16, so the number of 8-byte arguments is even.
  if (args.length % 2 !== 0) args.splice(1, 0, "--quiet");
  return args;
}

/** Makes the executable; the same input gives the same bytes. */
export function packExecutable({ runtime, program, flags }: PackInput): Uint8Array {
  const layout = readLayout(new DataView(runtime.buffer, runtime.byteOffset, runtime.byteLength));
  const encoder = new TextEncoder();
  const environment = encoder.encode(ENVIRONMENT);
  const message = encoder.encode(
    "cannot map the program: memfd_create and more than 202 open files must be allowed\n",
  );
  const args = bakedArguments(flags);
  const asm = createAssembler();
  asm.bytes(0x49, 0x89, 0xd7, 0x49, 0x89, 0xe6); // mov r15, rdx; mov r14, rsp
  emitMemoryFile(asm, "program", program.length, PROGRAM_FD);
  emitMemoryFile(asm, "environment", environment.length, ENVIRONMENT_FD);
  emitArguments(asm, args.length);
  asm.bytes(0x4c, 0x89, 0xfa, 0xe9); // mov rdx, r15; jmp entry
  asm.distanceTo("entry");
  emitFailure(asm, message.length);
  asm.data("name", encoder.encode("batuta\0"));
  asm.data("message", message);
  args.forEach((arg, index) => asm.data(`argument ${index}`, encoder.encode(`${arg}\0`)));
  asm.data("environment", environment);
  asm.data("program", program);
  // File offset and address of the segment are equal, so labels count from the segment's start.
  const segment = asm.link({ entry: layout.entry - layout.freeOffset });
  return joinSegment(runtime, layout, segment);
}

function joinSegment(runtime: Uint8Array, layout: ElfLayout, segment: Uint8Array): Uint8Array {
  const { freeOffset, noteHeader } = layout;
  const file = new Uint8Array(freeOffset + segment.length);
  file.set(runtime);
  file.set(segment, freeOffset);
  const view = new DataView(file.buffer);
  const setU64 = (offset: number, value: number): void =>
    view.setBigUint64(offset, BigInt(value), true);
  view.setUint32(noteHeader, ELF.load, true);
  view.setUint32(noteHeader + 4, ELF.readExecute, true);
  setU64(noteHeader + 8, freeOffset); // offset in the file
  setU64(noteHeader + 16, freeOffset); // virtual address
  setU64(noteHeader + 24, freeOffset); // physical address
  setU64(noteHeader + 32, segment.length); // size in the file
  setU64(noteHeader + 40, segment.length); // size in memory
  setU64(noteHeader + 48, PAGE_BYTES); // alignment
  setU64(24, freeOffset); // entry point
  return file;
}
