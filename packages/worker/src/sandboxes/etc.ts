import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";

import { connectScript } from "./proxy.ts";

/** Our own instead of the host's, which name its people, machines and networks. */
const files: Record<string, string> = {
  passwd: "root:x:0:0:root:/root:/usr/sbin/nologin\nsandbox:x:1000:1000:sandbox:/home/sandbox:/bin/bash\n",
  group: "root:x:0:\nsandbox:x:1000:\n",
  hosts: "127.0.0.1 localhost sandbox\n::1 localhost sandbox\n",
  "resolv.conf": "",
  "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
  "outrider-connect": connectScript,
};

/** The host's, where it has them: public, and git, python or node fail or behave oddly without. */
const borrowed = [
  "/etc/alternatives",
  "/etc/ld.so.cache",
  "/etc/ld.so.conf",
  "/etc/ld.so.conf.d",
  "/etc/localtime",
  "/etc/mime.types",
  "/etc/os-release",
  "/etc/ssl/certs",
  "/etc/ssl/openssl.cnf",
  "/etc/pki/tls/certs",
  "/etc/pki/ca-trust/extracted",
];

/** Makes the /etc of all sandboxes in a folder and returns the options of bubblewrap that put it in place. */
export function makeEtc(folder: string): string[] {
  makeFolder(folder);
  for (const [name, content] of Object.entries(files)) keepFile(join(folder, name), content);
  const found = borrowed.filter((path) => existsSync(path));
  // bubblewrap mounts over these, and cannot make them: to it the folder is read-only.
  for (const path of found) {
    const place = join(folder, relative("/etc", path));
    if (statSync(path).isDirectory()) makeFolder(place);
    else keepFile(place, "");
  }
  return ["--ro-bind", folder, "/etc", ...found.flatMap((path) => ["--ro-bind", path, path])];
}

/** Readable for all, whatever the umask is. */
function makeFolder(path: string): void {
  if (existsSync(path)) return;
  if (!existsSync(dirname(path))) makeFolder(dirname(path));
  mkdirSync(path, { recursive: true });
  chmodSync(path, 0o755);
}

/** One that is right is left alone: another worker's sandboxes may be reading it. */
function keepFile(path: string, content: string): void {
  if (existsSync(path) && readFileSync(path, "utf8") === content) return;
  makeFolder(dirname(path));
  writeFileSync(path, content);
  chmodSync(path, content.startsWith("#!") ? 0o755 : 0o644);
}
