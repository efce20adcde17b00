/**
 * Opens one sandbox of each kind and prints what its commands can read about the host, as JSON. A program of its own,
 * because a test runs it as several users. Argument: an empty folder.
 */
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openLocalProvider } from "../../src/sandboxes/local/local-provider.ts";
import type { OpenOptions } from "../../src/sandboxes/sandbox.ts";
import { inMs, run, silent } from "../sandboxes/sandbox-support.ts";

const [folder = ""] = process.argv.slice(2);
const source = join(folder, "mirror");
mkdirSync(source);
chmodSync(source, 0o755);
writeFileSync(join(source, "file"), "mounted\n");
const provider = await openLocalProvider({ root: join(folder, "root"), log: silent });

const links = "/proc/[0-9]*/fd/* /proc/[0-9]*/exe /proc/[0-9]*/cwd /proc/[0-9]*/root";
const command = `
cat /proc/[0-9]*/mountinfo > /dev/shm/mounts 2> /dev/null
echo ===; { cat /proc/[0-9]*/mountstats /proc/mounts; cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ | tr '\\0' '\\n'; } 2> /dev/null
echo ===; cat /dev/shm/mounts
echo ===; readlink ${links}
echo ===; cat /mounted/file; echo kept > /workspace/kept; cat /workspace/kept; echo t > /tmp/t; cat /tmp/t
echo to stderr > /dev/stderr
`;

async function report(id: string, options: Partial<OpenOptions> = {}) {
  const bundles = [{ id: "given", folder: source, target: "/mounted" }];
  const sandbox = await provider.open({ id, deadline: inMs(60_000), label: {}, bundles, ...options });
  const { stdout, stderr } = await run(sandbox, command);
  const [, other = "", mountinfo = "", openLinks = "", files = ""] = stdout.split("===\n");
  return { sandbox, seen: { other, mountinfo, links: openLinks, files, stderr } };
}

const disk = provider.capabilities().disk.enforced;
const plain = await report("plain");
await provider.saveBase(plain.sandbox, "base");
const onBase = await report("on-base", { base: "base" });
const { stdout: kept } = await run(onBase.sandbox, "cat kept");
await onBase.sandbox.close();
await provider.stop();
console.log(JSON.stringify({ uid: process.getuid?.(), disk, kept, plain: plain.seen, onBase: onBase.seen }));
