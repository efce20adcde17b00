/** Pushes to a real registry. */
import { createHash, randomBytes } from "node:crypto";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { parseExceptions } from "../../src/egress/exceptions.ts";
import { ociTypes } from "../../src/images/manifest.ts";
import { pushBlob, pushBytes, pushManifest } from "../../src/images/push-image.ts";
import { parseReference } from "../../src/images/reference.ts";
import { Registry } from "../../src/images/registry.ts";
import { openRemote } from "../../src/mcp/remote.ts";
import { layer, pull } from "./images-support.ts";
import { makeImage, type RegistryServer, startRegistry } from "./registry-server.ts";
import { type Handler, serve } from "./stub-registry.ts";

/** As `htpasswd -nbB me secret` prints it. */
const htpasswd = "me:$2b$04$wDvlQNIUtlZizmc3AYAbU.w3jDvv8syDiuUOfDhr/xpiGpDtsPYXy\n";
const { signal: never } = new AbortController();
let registry: RegistryServer;
beforeAll(async () => {
  registry = await startRegistry();
});
afterAll(() => registry?.close());

interface OpenOptions {
  repository?: string;
  credentials?: { username: string; password: string };
  scopes?: string[];
  signal?: AbortSignal;
}

function open(
  host: string,
  { repository = "acme/pushed", signal = never, ...options }: OpenOptions = {},
): Registry {
  const remote = openRemote({ exceptions: parseExceptions("127.0.0.1") });
  onTestFinished(() => remote.close());
  const reference = parseReference(`${host}/${repository}:v1`);
  return new Registry({ reference, credentials: undefined, remote, signal, retryMs: 1, ...options });
}

const digestOf = (bytes: Buffer) => `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
const describe = (bytes: Buffer) => ({ digest: digestOf(bytes), size: bytes.length });
const chunksOf = (bytes: Buffer, onOpen = () => {}) =>
  async function* () {
    onOpen();
    for (let at = 0; at < bytes.length; at += 50_000) yield bytes.subarray(at, at + 50_000);
  };
const has = async (host: string, repository: string, digest: string) =>
  (await fetch(`http://${host}/v2/${repository}/blobs/${digest}`, { method: "HEAD" })).status === 200;

/** Passes requests to the registry, unless the handler answers. */
async function serveBefore(
  target: RegistryServer,
  answers: (...args: Parameters<Handler>) => boolean,
): Promise<string> {
  const server = createServer((incoming, response) => {
    if (answers(incoming, response)) return;
    const { url = "/", method, headers } = incoming;
    const passed = request(new URL(url, `http://${target.host}`), { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(response);
    });
    passed.on("error", () => response.destroy());
    incoming.pipe(passed);
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test("an image that was pushed can be pulled", async () => {
  const image = makeImage({ layers: [layer({ name: "etc/name", text: "text" })], config: { Env: ["A=b"] } });
  const target = open(registry.host);
  for (const blob of image.blobs)
    expect(await pushBytes(blob, { registry: target, signal: never })).toEqual(describe(blob));
  const digest = await pushManifest(target, "v1", ociTypes.manifest, Buffer.from(image.manifest));
  expect(digest).toBe(image.digest);
  const pulled = await pull(`${registry.host}/acme/pushed:v1`);
  expect(pulled).toMatchObject({ digest, config: { env: { A: "b" } } });
});

test("a blob is uploaded only if the repository does not have it, and mounted from another one", async () => {
  const bytes = randomBytes(300_000);
  let opened = 0;
  const options = { blob: describe(bytes), open: chunksOf(bytes, () => opened++), signal: never };
  await pushBlob({ ...options, registry: open(registry.host) });
  await pushBlob({ ...options, registry: open(registry.host) });
  expect(opened).toBe(1);
  const repository = "acme/mounted";
  expect(await has(registry.host, repository, options.blob.digest)).toBe(false);
  await pushBlob({ ...options, registry: open(registry.host, { repository }), mountFrom: "acme/pushed" });
  expect(await has(registry.host, repository, options.blob.digest)).toBe(true);
  expect(opened).toBe(1);
  // A repository that does not have it is no obstacle.
  await pushBlob({
    ...options,
    registry: open(registry.host, { repository: "acme/copied" }),
    mountFrom: "acme/missing",
  });
  expect(opened).toBe(2);
});

test("an upload starts again after a server error and after a broken connection", async () => {
  const bytes = randomBytes(300_000);
  const failures: ("status" | "break")[] = ["status", "break"];
  const host = await serveBefore(registry, ({ method, socket, resume }, response) => {
    const failure = method === "PATCH" ? failures.shift() : undefined;
    if (failure === "status") response.writeHead(503, { connection: "close" }).end();
    if (failure === "break") socket.destroy();
    return failure !== undefined && typeof resume === "function";
  });
  const blob = describe(bytes);
  await pushBlob({ registry: open(host), blob, open: chunksOf(bytes), signal: never, retryMs: 1 });
  expect(failures).toEqual([]);
  expect(await has(registry.host, "acme/pushed", blob.digest)).toBe(true);
});

test("an upload that fails again and again ends with the reason", async () => {
  let attempts = 0;
  const host = await serveBefore(registry, ({ method }, response) => {
    if (method !== "PATCH") return false;
    attempts += 1;
    response.writeHead(507, { connection: "close" }).end();
    return true;
  });
  const bytes = randomBytes(1000);
  const pushing = pushBlob({
    registry: open(host),
    blob: describe(bytes),
    open: chunksOf(bytes),
    signal: never,
    retryMs: 1,
  });
  await expect(pushing).rejects.toThrow("responded with status 507");
  expect(attempts).toBe(4);
});

test("a blob with another size or content than declared is not stored", async () => {
  const bytes = randomBytes(1000);
  const { digest } = describe(bytes);
  for (const size of [999, 1001]) {
    const options = { registry: open(registry.host), blob: { digest, size }, open: chunksOf(bytes) };
    await expect(pushBlob({ ...options, signal: never, retryMs: 1 })).rejects.toThrow("its declared size");
  }
  const options = {
    registry: open(registry.host),
    blob: { digest, size: 1000 },
    open: chunksOf(randomBytes(1000)),
  };
  await expect(pushBlob({ ...options, signal: never, retryMs: 1 })).rejects.toThrow("status 400");
  expect(await has(registry.host, "acme/pushed", digest)).toBe(false);
});

test("an upload ends when its signal aborts", async () => {
  const abort = new AbortController();
  let isClosed = false;
  const endless = async function* () {
    try {
      for (;;) {
        yield randomBytes(1000);
        abort.abort(new Error("no longer needed"));
        await new Promise((resolve) => setImmediate(resolve));
      }
    } finally {
      isClosed = true;
    }
  };
  const blob = { digest: digestOf(Buffer.from("x")), size: 2 ** 40 };
  const { signal } = abort;
  const pushing = pushBlob({ registry: open(registry.host, { signal }), blob, open: endless, signal });
  await expect(pushing).rejects.toThrow("no longer needed");
  await expect.poll(() => isClosed).toBe(true);
});

test("wrong credentials are an error, and right ones work", async () => {
  const guarded = await startRegistry({ htpasswd });
  onTestFinished(() => guarded.close());
  const bytes = randomBytes(1000);
  const options = { blob: describe(bytes), open: chunksOf(bytes), signal: never };
  for (const credentials of [undefined, { username: "me", password: "wrong" }]) {
    const target = open(guarded.host, credentials ? { credentials } : {});
    await expect(pushBlob({ ...options, registry: target })).rejects.toMatchObject({ code: "unauthorized" });
  }
  const credentials = { username: "me", password: "secret" };
  await pushBlob({ ...options, registry: open(guarded.host, { credentials }) });
});

test("a token is requested for what the push needs, and credentials stay with the registry", async () => {
  const seen: string[] = [];
  const other = await serve(({ method, headers }, response) => {
    seen.push(`other ${method} ${headers.authorization}`);
    response.writeHead(202, { location: `http://${other}/upload` }).end();
  });
  const host: string = await serve((incoming, response) => {
    const { url = "", method, headers } = incoming;
    incoming.resume();
    if (url.startsWith("/token")) {
      seen.push(`token ${new URL(url, "http://x").searchParams.getAll("scope").join(" ")}`);
      response.end(JSON.stringify({ token: "abc" }));
    } else if (headers.authorization !== "Bearer abc") {
      const challenge = `Bearer realm="http://${host}/token",service="s",scope="repository:everything:*"`;
      response.writeHead(401, { "www-authenticate": challenge }).end();
    } else if (method === "HEAD") response.writeHead(404).end();
    else response.writeHead(202, { location: `http://${other}/upload` }).end();
  });
  const bytes = randomBytes(100);
  const scopes = ["repository:acme/pushed:pull,push", "repository:acme/base:pull"];
  const target = open(host, { scopes, credentials: { username: "me", password: "secret" } });
  await pushBlob({ registry: target, blob: describe(bytes), open: chunksOf(bytes), signal: never });
  expect(seen).toEqual([
    "token repository:acme/pushed:pull,push repository:acme/base:pull",
    ...["other PATCH undefined", "other PUT undefined"],
  ]);
});

test.each([undefined, "ftp://127.0.0.1/upload", "http://me:secret@127.0.0.1/upload"])(
  "the location %s of an upload is refused",
  async (location) => {
    const host = await serve(({ method }, response) => {
      response.writeHead(method === "HEAD" ? 404 : 202, location === undefined ? {} : { location }).end();
    });
    const bytes = randomBytes(10);
    const pushing = pushBlob({
      registry: open(host),
      blob: describe(bytes),
      open: chunksOf(bytes),
      signal: never,
    });
    await expect(pushing).rejects.toThrow("no valid location");
  },
);
