/**
 * Uses sandboxes with an image in a folder whose file system has no id-mapped mounts, and prints what it sees, as JSON. A
 * program of its own, because a test runs it in another mount namespace. Arguments: the folder and the reference.
 */
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { parseExceptions } from "../../src/egress/exceptions.ts";
import { openLocalProvider } from "../../src/sandboxes/local/local-provider.ts";
import { inMs, run, silent } from "./sandbox-support.ts";

const [folder = "", reference = ""] = process.argv.slice(2);
const exceptions = parseExceptions("127.0.0.1");
const provider = await openLocalProvider({ root: join(folder, "root"), log: silent, exceptions });
const { signal } = new AbortController();
const digest = await provider.images?.resolve(reference, { signal });
const image = await provider.images?.pull({ reference, digest: digest ?? "" }, { signal });
if (!image) throw new Error("This worker cannot use images.");
const open = (more = {}) =>
  provider.open({ id: randomUUID(), deadline: inMs(120_000), label: {}, image, ...more });
const output = async (...[sandbox, command]: [Parameters<typeof run>[0], string]) => {
  const { stdout, stderr } = await run(sandbox, command);
  return stdout + stderr;
};

const origin = await open();
const made = await output(origin, "echo made > /etc/made && chown 1234:4321 /etc/made; id -u");
await provider.saveBase(origin, "base");
const [first, second] = [await open({ base: "base" }), await open({ base: "base" })];
const found = await output(first, "cat /etc/made; stat -c %u:%g /etc/made; echo secret > /etc/secret");
const other = await output(second, "cat /etc/made; cat /etc/secret; ps -eo pid=; kill -9 -1");
const idMaps = [
  await output(first, "cat /proc/self/uid_map"),
  await output(second, "cat /proc/self/uid_map"),
];
const { ids } = first.enforced as typeof first.enforced & { ids: object };
await Promise.all([first.close(), second.close()]);
await provider.stop();
process.stdout.write(JSON.stringify({ made, found, other, idMaps, ids }));
