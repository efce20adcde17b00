/** An image with a small system, made of the programs of this machine. */
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

const programs = [
  ...["cat", "chmod", "chown", "cp", "cut", "find", "grep", "head", "id", "ln", "ls", "mkdir", "mv", "nohup"],
  ...[
    "ps",
    "readlink",
    "rm",
    "sed",
    "seq",
    "setsid",
    "sha256sum",
    "sleep",
    "sort",
    "stat",
    "tail",
    "tee",
    "touch",
    "tr",
    "true",
  ],
];

interface SystemOptions {
  /** The shell that /bin/sh leads to. */
  shell?: "bash" | "dash";
  /** Additional programs of this machine. */
  morePrograms?: string[];
  /** Folders of this machine. */
  folders?: string[];
  /** Symbolic links, by path. */
  links?: Record<string, string>;
}

/** Returns a layer with the programs, their libraries and these files. */
export function systemLayer(
  files: Record<string, string> = {},
  { shell = "bash", morePrograms = [], folders = [], links = {} }: SystemOptions = {},
): Buffer {
  const folder = mkdtempSync(join(tmpdir(), "outrider-system-"));
  const archive = `${folder}.tar`;
  try {
    for (const name of ["usr/bin", "etc", "root", "home/worker", "tmp", "var"]) {
      mkdirSync(join(folder, name), { recursive: true });
    }
    symlinkSync("usr/bin", join(folder, "bin"));
    const sources = [shell, ...programs, ...morePrograms].map((name) =>
      execFileSync("which", [name], { encoding: "utf8" }).trim(),
    );
    for (const source of sources) copyFileSync(source, join(folder, "usr/bin", source.replace(/.*\//, "")));
    symlinkSync(shell, join(folder, "usr/bin/sh"));
    for (const library of librariesOf(sources)) {
      mkdirSync(join(folder, dirname(library)), { recursive: true });
      copyFileSync(library, join(folder, library));
    }
    for (const path of folders) cpSync(path, join(folder, path), { recursive: true });
    chmodSync(join(folder, "tmp"), 0o1777);
    const all = {
      "etc/passwd": "root:x:0:0:root:/root:/bin/bash\nworker:x:1234:1234::/home/worker:/bin/bash\n",
      "etc/group": "root:x:0:\nworker:x:1234:\nextra:x:4321:worker\n",
      "etc/os-release": 'PRETTY_NAME="Test Linux 1"\n',
      ...files,
    };
    for (const [path, text] of Object.entries(all)) {
      mkdirSync(join(folder, dirname(path)), { recursive: true });
      writeFileSync(join(folder, path), text);
    }
    for (const [path, target] of Object.entries(links)) {
      rmSync(join(folder, path), { force: true });
      symlinkSync(target, join(folder, path));
    }
    // The owners do not depend on who runs the tests.
    const pack = (owner: number, ...args: string[]) =>
      execFileSync("tar", [
        ...[
          "--numeric-owner",
          `--owner=${owner}`,
          `--group=${owner}`,
          "--mode=u+w",
          "-C",
          folder,
          "-f",
          archive,
        ],
        ...args,
      ]);
    pack(0, "-c", "--exclude=./home/worker", ".");
    pack(1234, "-r", "./home/worker");
    return readFileSync(archive);
  } finally {
    rmSync(folder, { recursive: true, force: true });
    rmSync(archive, { force: true });
  }
}

/** Returns a layer with busybox as its only program, or undefined if this machine has none. */
export function busyboxLayer(): Buffer | undefined {
  const busybox = "/usr/bin/busybox";
  if (!existsSync(busybox)) return undefined;
  const folder = mkdtempSync(join(tmpdir(), "outrider-system-"));
  try {
    mkdirSync(join(folder, "bin"));
    copyFileSync(busybox, join(folder, "bin/busybox"));
    const names = execFileSync(busybox, ["--list"], { encoding: "utf8" }).trim().split("\n");
    for (const name of names.filter((each) => each !== "busybox"))
      symlinkSync("busybox", join(folder, "bin", name));
    return execFileSync("tar", ["--numeric-owner", "-C", folder, "-cf", "-", "."], { maxBuffer: 2 ** 24 });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function librariesOf(sources: string[]): Set<string> {
  const output = execFileSync("ldd", sources, { encoding: "utf8" });
  return new Set([...output.matchAll(/(\/[^\s:]+\.so[^\s]*) \(/g)].map(([, path]) => path as string));
}
