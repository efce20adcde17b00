/**
 * Chooses the files of this machine that the default system of containers consists of: the programs that scripts of the
 * worker and users without an image need, their libraries and data. The whole of /usr could have many gigabytes.
 */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { type ArchiveEntry, describeFile, listFolder } from "../../files/pack-files.ts";
import { findLibrary, listNeededLibraries } from "./needed-libraries.ts";

const run = promisify(execFile);
const searchPath = ["/usr/local/bin", "/usr/bin", "/usr/local/sbin", "/usr/sbin", "/bin", "/sbin"];

/** Without these, the worker's own scripts fail. */
const neededPrograms = ["bash", "git", "tar", "gzip", "sed", "find", "grep", "sort", "stat"];
const programs = [
  ...[
    "bash",
    "sh",
    "env",
    "which",
    "git",
    "ssh",
    "ssh-keygen",
    "scp",
    "gpg",
    "gpgv",
    "curl",
    "wget",
    "openssl",
  ],
  ...["tar", "gzip", "gunzip", "zcat", "zstd", "xz", "bzip2", "unzip", "zip", "rsync", "cpio"],
  ...[
    "find",
    "xargs",
    "grep",
    "egrep",
    "fgrep",
    "sed",
    "awk",
    "gawk",
    "mawk",
    "perl",
    "diff",
    "diff3",
    "cmp",
  ],
  ...[
    "patch",
    "file",
    "less",
    "more",
    "tree",
    "jq",
    "bc",
    "make",
    "vi",
    "nano",
    "hostname",
    "getconf",
    "getent",
  ],
  ...["ldd", "locale", "iconv", "tput", "clear", "infocmp", "column", "flock", "setsid", "taskset", "getopt"],
  ...["mount", "umount", "unshare", "nsenter", "ipcs"],
  ...["script", "rev", "hexdump", "xxd", "strace", "lsof", "sqlite3", "ip", "ss", "ping", "nc"],
  ...[
    "ps",
    "top",
    "free",
    "kill",
    "pgrep",
    "pkill",
    "pidof",
    "watch",
    "uptime",
    "vmstat",
    "w",
    "pmap",
    "pwdx",
  ],
  ...["python3", "pip3", "pip", "python", "node", "npm", "npx", "corepack"],
  // GNU coreutils
  ...[
    "[",
    "arch",
    "b2sum",
    "base32",
    "base64",
    "basename",
    "basenc",
    "cat",
    "chgrp",
    "chmod",
    "chown",
    "cksum",
  ],
  ...[
    "comm",
    "cp",
    "csplit",
    "cut",
    "date",
    "dd",
    "df",
    "dir",
    "dircolors",
    "dirname",
    "du",
    "echo",
    "expand",
  ],
  ...[
    "expr",
    "factor",
    "false",
    "fmt",
    "fold",
    "groups",
    "head",
    "id",
    "install",
    "join",
    "link",
    "ln",
    "logname",
  ],
  ...[
    "ls",
    "md5sum",
    "mkdir",
    "mkfifo",
    "mknod",
    "mktemp",
    "mv",
    "nice",
    "nl",
    "nohup",
    "nproc",
    "numfmt",
    "od",
  ],
  ...[
    "paste",
    "pathchk",
    "pr",
    "printenv",
    "printf",
    "ptx",
    "pwd",
    "readlink",
    "realpath",
    "rm",
    "rmdir",
    "seq",
  ],
  ...[
    "sha1sum",
    "sha224sum",
    "sha256sum",
    "sha384sum",
    "sha512sum",
    "shred",
    "shuf",
    "sleep",
    "sort",
    "split",
  ],
  ...[
    "stat",
    "stdbuf",
    "stty",
    "sum",
    "sync",
    "tac",
    "tail",
    "tee",
    "test",
    "timeout",
    "touch",
    "tr",
    "true",
  ],
  ...[
    "truncate",
    "tsort",
    "tty",
    "uname",
    "unexpand",
    "uniq",
    "unlink",
    "users",
    "vdir",
    "wc",
    "who",
    "whoami",
    "yes",
  ],
];

/** Data that these programs read. */
const dataPaths = [
  ...["/etc/alternatives/awk", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime", "/etc/mime.types"],
  ...["/etc/os-release", "/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/pki/tls/certs"],
  ...["/etc/pki/ca-trust/extracted", "/usr/share/ca-certificates", "/usr/local/share/ca-certificates"],
  ...[
    "/usr/lib/ssl",
    "/usr/share/git-core",
    "/usr/share/zoneinfo",
    "/usr/lib/locale/C.utf8",
    "/usr/lib/locale/C.UTF-8",
  ],
  ...["/lib/terminfo", "/usr/share/terminfo/x", "/usr/share/misc/magic.mgc", "/usr/lib/file"],
  ...[
    "/usr/lib/node_modules",
    "/usr/local/lib/node_modules",
    "/usr/share/nodejs",
    "/usr/share/python-wheels",
  ],
];
/** Libraries that programs load while they run. */
const loadedLibraries = [
  ...[
    "libgcc_s.so.1",
    "libresolv.so.2",
    "libnss_files.so.2",
    "libnss_dns.so.2",
    "libpthread.so.0",
    "libdl.so.2",
  ],
  ...["librt.so.1", "libutil.so.1", "libanl.so.1", "libstdc++.so.6", "libatomic.so.1"],
];

/** Folders of Python that programs do not need: tests, its editor, and the configuration for compiling extensions. */
const unusedPaths = /\/python3[^/]*\/(config-3|test\/|idlelib|.*\/tests?\/)/;

export async function listSystemFiles(): Promise<ArchiveEntry[]> {
  const files = new SystemFiles();
  const missing = neededPrograms.filter((name) => !findProgram(name));
  if (missing.length > 0)
    throw new Error(
      `This machine lacks programs that the default system of containers needs: ${missing.join(", ")}. Install them, or set OUTRIDER_DOCKER_SYSTEM_IMAGE to an image that has them.`,
    );
  const found = programs.flatMap((name) => findProgram(name) ?? []);
  // A link to a folder would otherwise be missing if no file needs it.
  for (const path of ["/bin", "/sbin", "/lib", "/lib64"]) files.add(path);
  for (const path of [...found, ...dataPaths, ...(await listInterpreterFolders())]) files.addTree(path);
  for (const name of loadedLibraries) files.add(findLibrary(name) ?? "");
  if (!findProgram("node")) files.addAs("usr/local/bin/node", process.execPath);
  return files.list();
}

function findProgram(name: string): string | undefined {
  return searchPath.map((folder) => join(folder, name)).find((path) => existsSync(path));
}

/** Returns the folders of the programs and modules of git, Python and Perl. */
async function listInterpreterFolders(): Promise<string[]> {
  const ask = async (program: string, ...args: string[]) => {
    const path = findProgram(program);
    if (!path) return [];
    const { stdout } = await run(path, args, { env: {}, cwd: "/", timeout: 60_000 }).catch(() => ({
      stdout: "",
    }));
    return stdout.split("\n").filter((line) => line.startsWith("/") && existsSync(line));
  };
  const python =
    "import sysconfig, site; print(*{sysconfig.get_path(p) for p in ['stdlib', 'platstdlib']}, *site.getsitepackages(), sep='\\n')";
  return [
    ...(await ask("git", "--exec-path")),
    ...(await ask("python3", "-I", "-c", python)),
    ...(await ask("perl", "-e", 'print "$_\\n" for @INC')).filter((path) => !path.includes("perl5")),
  ];
}

/** Files of this machine, by path. */
class SystemFiles {
  readonly #entries = new Map<string, ArchiveEntry>();

  /** In the order of paths, so that folders precede what they contain. */
  list(): ArchiveEntry[] {
    return [...this.#entries.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
  }

  /**
   * Adds a file or folder with the folders and links that lead to it, and the libraries of a program, but not what a folder
   * contains. Returns its real path.
   */
  add(path: string, depth = 0): string | undefined {
    if (depth > 40) return undefined;
    let real = "";
    const names = path.split("/").slice(1);
    for (const [index, name] of names.entries()) {
      const current = `${real}/${name}`;
      const entry = this.#entries.get(current.slice(1)) ?? this.#put(describeFile(current, current.slice(1)));
      if (!entry) return undefined;
      if (entry.content.type === "link") {
        const { target } = entry.content;
        const folder = target.startsWith("/") ? "/" : real || "/";
        return this.add(join(folder, target, ...names.slice(index + 1)), depth + 1);
      }
      real = current;
    }
    return real;
  }

  addTree(path: string): void {
    const real = this.add(path);
    if (real === undefined || this.#entries.get(real.slice(1))?.content.type !== "folder") return;
    for (const entry of listFolder(real, real.slice(1))) {
      if (unusedPaths.test(entry.path)) continue;
      this.#put(entry);
      // Links may lead out of the folder.
      if (entry.content.type === "link") this.add(`/${entry.path}`);
    }
  }

  addAs(path: string, source: string): void {
    this.#put(describeFile(source, path));
  }

  #put(entry: ArchiveEntry | undefined): ArchiveEntry | undefined {
    if (!entry || this.#entries.has(entry.path)) return entry;
    const { mode, content } = entry;
    // No program may change its user here, and every user must be able to read all files.
    const readable = content.type === "folder" ? 0o555 : 0o444;
    this.#entries.set(entry.path, { ...entry, mode: (mode & 0o1777) | readable });
    if (content.type === "file" && (mode & 0o111 || /\.so(\.[\d.]+)?$/.test(entry.path)))
      for (const library of listNeededLibraries(content.source)) this.add(library);
    return entry;
  }
}
