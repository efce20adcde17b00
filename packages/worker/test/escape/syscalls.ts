import { rules } from "../../src/sandboxes/seccomp/rules.ts";

/** Numbers on x86_64 and aarch64 of calls that the filter does not list. */
const others: Record<string, [x64: number, arm64: number]> = {
  ptrace: [101, 117],
  process_vm_readv: [310, 270],
  pidfd_open: [434, 434],
  prlimit64: [302, 261],
  setuid: [105, 146],
  setxattr: [188, 5],
  shmget: [29, 194],
  shmat: [30, 196],
  msgget: [68, 186],
  sendmsg: [46, 211],
  recvmsg: [47, 212],
  mknodat: [259, 33],
  prctl: [157, 167],
  getpid: [39, 172],
};

const numbers = new Map(
  [...rules.flatMap(([, calls]) => Object.entries(calls)), ...Object.entries(others)].map(
    ([name, [x64, arm64]]) => [name, process.arch === "arm64" ? arm64 : x64],
  ),
);

export function syscallNumber(name: string): number {
  const number = numbers.get(name);
  if (number === undefined) throw new Error(`${process.arch} has no system call ${name}.`);
  return number;
}

/** Returns a command that makes one system call in perl and prints the result. The arguments are perl expressions. */
export function syscall(name: string, ...args: (string | number)[]): string {
  return `perl -e 'my @a = (${args.join(", ")}); my $r = syscall(${syscallNumber(name)}, @a); print $r == -1 ? "refused: $!\\n" : "worked: $r\\n"'`;
}
