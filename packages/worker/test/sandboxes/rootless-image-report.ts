/**
 * Uses an image as a worker that does not run as root and prints what happened, as JSON. A program of its own, because a
 * test runs it as another user. Arguments: the reference of the image and a folder for sandboxes.
 */
import { parseExceptions } from "../../src/egress/exceptions.ts";
import { openLocalProvider } from "../../src/sandboxes/local/local-provider.ts";
import type { Sandbox } from "../../src/sandboxes/sandbox.ts";
import { inMs, run, silent } from "./sandbox-support.ts";

const [reference = "", root = ""] = process.argv.slice(2);
const provider = await openLocalProvider({ root, log: silent, exceptions: parseExceptions("127.0.0.1") });
const { signal } = new AbortController();
const { images } = provider;
if (!images) throw new Error("there are no images");
const log: string[] = [];
const digest = await images.resolve(reference, { signal });
const image = await images.pull(
  { reference, digest },
  { signal, onProgress: (message) => log.push(message) },
);

let count = 0;
const open = (options: object = {}) =>
  provider.open({ id: `s${++count}`, deadline: inMs(120_000), label: {}, image, ...options });
/** Returns the output of a command that the image's root runs. */
const output = async (sandbox: Sandbox, command: string) => {
  const { stdout, stderr } = await run(sandbox, command, { asRoot: true });
  return (stdout + stderr).trim();
};

const first = await open();
const identity = await output(
  first,
  "id -u; id -g; cat /proc/self/uid_map; touch /etc/made; stat -c %u:%g /etc/made",
);
const image_files = await output(
  first,
  "stat -c '%u:%g %a' /home/worker /bin/true; ls /gone 2>&1; cat /etc/flavor",
);
const chown = await output(
  first,
  "touch /workspace/file; chown 1234:4321 /workspace/file && stat -c %u:%g /workspace/file",
);
const removal = await output(first, "rm /etc/flavor && echo new > /workspace/new; ls /etc/flavor 2>&1; true");
const chroot = await output(first, "grep CapEff /proc/self/status");
const snapshot: Buffer[] = [];
for await (const chunk of first.snapshot() as AsyncIterable<Buffer>) snapshot.push(chunk);
const { enforced } = first as unknown as { enforced: { ids?: object } };
await provider.saveBase(first, "base");

const second = await open({ base: "base" });
const on_base = await output(
  second,
  "ls /etc/flavor 2>&1; stat -c %u:%g /etc/made /workspace/file; cat /workspace/new",
);
await second.close();

const third = await open();
const { Readable } = await import("node:stream");
await third.restore(Readable.from(snapshot));
const restored = await output(third, "cat /workspace/new");
await third.close();

const asUser = await open({ image: { ...image, user: "worker" } });
const user = await run(asUser, "id -u; touch /workspace/mine; stat -c %U /workspace/mine").then(
  ({ stdout, stderr }) => (stdout + stderr).trim(),
  (error: Error) => error.message,
);
await asUser.close();

await provider.removeBase("base");
const abandoned = await open({ id: "abandoned" });
await output(abandoned, "mkdir -m 700 /etc/closed; touch /etc/closed/file");
await provider.stop();
const next = await openLocalProvider({ root, log: silent });
const reaped = await next.reap(() => false);
await next.stop();
process.stdout.write(
  JSON.stringify({
    ...{ uid: process.getuid?.(), ids: enforced.ids, log, identity, image_files, chown, removal, chroot },
    ...{ on_base, restored, user, reaped },
  }),
);
process.exit(0);
