// A filter for system calls that no tool needs and that have led out of sandboxes: a program of the classic
// packet filter, one list a machine.

const ALLOW = 0x7fff0000;
/** SECCOMP_RET_ERRNO with EPERM: a program is told, and can go on. */
const REFUSE = 0x00050001;
/** With ENOSYS, as by an older kernel: the C library tries the older call. */
const UNKNOWN = 0x00050026;
/** CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET. */
const NAMESPACES = 0x7e020000;
/** Puts a character into the input of a terminal, and so types commands into the shell of its person. */
const TIOCSTI = 0x5412;
const TIOCLINUX = 0x541c;

interface Machine {
  /** AUDIT_ARCH: a call by another numbering is refused as a whole. */
  readonly arch: number;
  readonly clone: number;
  readonly ioctl: number;
  readonly refused: readonly number[];
}

/** The same number on all machines. */
const CLONE3 = 435;
/** io_uring (three), open_tree, move_mount, fsopen, fsconfig, fsmount, fspick, mount_setattr. */
const NEWER = [425, 426, 427, 428, 429, 430, 431, 432, 433, 442];

const MACHINES: Readonly<Record<string, Machine>> = {
  x64: {
    ...{ arch: 0xc000003e, clone: 56, ioctl: 16 },
    // ptrace, pivot_root, chroot, mount, umount2, swapon, swapoff, reboot, init_module, delete_module,
    // add_key, request_key, keyctl, unshare, perf_event_open, setns, kexec_load, finit_module,
    // kexec_file_load, bpf, userfaultfd, process_vm_readv and writev, open_by_handle_at, acct,
    // quotactl, iopl, ioperm
    refused: [
      ...[101, 155, 161, 165, 166, 167, 168, 169, 175, 176, 248, 249, 250, 272, 298, 308, 246, 313, 320, 321, 323, 310, 311, 304],
      ...[163, 179, 172, 173],
    ],
  },
  arm64: {
    ...{ arch: 0xc00000b7, clone: 220, ioctl: 29 },
    refused: [
      117, 41, 51, 40, 39, 224, 225, 142, 105, 106, 217, 218, 219, 97, 241, 268, 104, 273, 294, 280, 282, 270, 271, 265, 89, 60,
    ],
  },
};

type Instruction = readonly [code: number, jumpTrue: number, jumpFalse: number, value: number];
const LOAD = 0x20;
const JUMP_EQUAL = 0x15;
const JUMP_SET = 0x45;
const JUMP_AT_LEAST = 0x35;
const RETURN = 0x06;
/** Offsets in `struct seccomp_data`; the low half of an argument comes first on both machines. */
const NUMBER = 0;
const ARCH = 4;
const argument = (n: number): number => 16 + 8 * n;
/** Calls by the third numbering of x86-64 begin here. */
const X32 = 0x40000000;

/** For `bwrap --seccomp`. Undefined = this machine has no list, and the namespaces have to do. */
export function seccompFilter(arch: string): Buffer | undefined {
  const machine = MACHINES[arch];
  if (!machine) return undefined;
  const refuse: Instruction = [RETURN, 0, 0, REFUSE];
  const instructions: readonly Instruction[] = [
    [LOAD, 0, 0, ARCH],
    [JUMP_EQUAL, 1, 0, machine.arch],
    refuse,
    [LOAD, 0, 0, NUMBER],
    ...(arch === 'x64' ? ([[JUMP_AT_LEAST, 0, 1, X32], refuse] as const) : []),
    ...[...machine.refused, ...NEWER].flatMap((number): readonly Instruction[] => [[JUMP_EQUAL, 0, 1, number], refuse]),
    // Its flags lie in memory, where a filter cannot look.
    [JUMP_EQUAL, 0, 1, CLONE3],
    [RETURN, 0, 0, UNKNOWN],
    [JUMP_EQUAL, 0, 4, machine.clone],
    [LOAD, 0, 0, argument(0)],
    [JUMP_SET, 0, 1, NAMESPACES],
    refuse,
    [RETURN, 0, 0, ALLOW],
    [JUMP_EQUAL, 0, 5, machine.ioctl],
    [LOAD, 0, 0, argument(1)],
    [JUMP_EQUAL, 0, 1, TIOCSTI],
    refuse,
    [JUMP_EQUAL, 0, 1, TIOCLINUX],
    refuse,
    [RETURN, 0, 0, ALLOW],
  ];
  const bytes = Buffer.alloc(8 * instructions.length);
  for (const [at, [code, jumpTrue, jumpFalse, value]] of instructions.entries()) {
    bytes.writeUInt16LE(code, 8 * at);
    bytes.writeUInt8(jumpTrue, 8 * at + 2);
    bytes.writeUInt8(jumpFalse, 8 * at + 3);
    bytes.writeUInt32LE(value, 8 * at + 4);
  }
  return bytes;
}
