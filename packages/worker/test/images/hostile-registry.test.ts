import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { describe, expect, onTestFinished, test } from "vitest";
import { parseExceptions } from "../../src/egress/exceptions.ts";
import { layer, listStored, makeStore, pull, pullError } from "./images-support.ts";
import { makeImage, sha256 } from "./registry-server.ts";
import { answer, endless, type Handler, serve, serveImage } from "./stub-registry.ts";

const content = layer({ name: "file", text: "0123456789".repeat(1_000) });
const image = makeImage({ layers: [content], compress: (tar) => tar });
const [config = Buffer.alloc(0), blob = Buffer.alloc(0)] = image.blobs;
const blobPath = `blobs/${sha256(blob)}`;
const configPath = `blobs/${sha256(config)}`;
const changed = (data: Buffer) => Buffer.concat([data.subarray(0, -1), Buffer.from("!")]);

const send =
  (data: Buffer | string): Handler =>
  (_request, response) =>
    response.end(data);

describe("a registry that lies", () => {
  test.each<[string, string, Handler]>([
    ["sends another manifest", "manifests/sha256:", send(`${image.manifest} `)],
    ["sends an endless manifest", "manifests/sha256:", endless],
    ["sends another configuration", configPath, send(changed(config))],
    ["sends an endless configuration", configPath, endless],
    ["sends another layer", blobPath, send(changed(blob))],
    ["sends a longer layer", blobPath, send(Buffer.concat([blob, blob]))],
    ["sends an endless layer", blobPath, endless],
  ])("%s", async (_name, path, handler) => {
    const store = makeStore();
    expect(await pullError(await serveImage(image, { [path]: handler }), { store })).toMatchObject({
      code: "corrupt",
    });
    expect(listStored(store)).toEqual([]);
  });

  test("about the digest of the uncompressed layer", async () => {
    const store = makeStore();
    const other = makeImage({ layers: [content], diffIds: [sha256("other")] });
    const error = await pullError(await serveImage(other), { store });
    expect(error).toMatchObject({ code: "corrupt" });
    expect(error.message).toContain(sha256("other"));
    expect(listStored(store)).toEqual([]);
  });

  test("about the number of layers", async () => {
    const other = makeImage({ layers: [content], diffIds: [] });
    expect(await pullError(await serveImage(other))).toMatchObject({ code: "corrupt" });
  });

  test("without the digest of a tag is asked for the manifest", async () => {
    const withoutDigest: Handler = ({ method }, response) =>
      response
        .writeHead(200, { "content-type": image.mediaType })
        .end(method === "HEAD" ? "" : image.manifest);
    const pulled = await pull(await serveImage(image, { "manifests/v1": withoutDigest }));
    expect(pulled.digest).toBe(image.digest);
  });

  test.each([
    ["not JSON", "<html>", "corrupt"],
    ["a list", "[]", "corrupt"],
    ["nothing", "null", "corrupt"],
    ["deep", `{"layers":${"[".repeat(1_000)}${"]".repeat(1_000)}}`, "too_large"],
    ["of many values", `{"layers":[${"1,".repeat(200_000)}1]}`, "too_large"],
    ["without layers", "{}", "unsupported"],
    ["with layers that are numbers", '{"layers":[1]}', "corrupt"],
    ["of schema 1", '{"schemaVersion":1,"fsLayers":[]}', "unsupported"],
    ["with an index in an index", '{"manifests":[]}', "wrong_architecture"],
    [
      "with a foreign layer",
      '{"layers":[{"mediaType":"application/vnd.docker.image.rootfs.foreign.diff.tar.gzip"}]}',
      "unsupported",
    ],
    [
      "with a negative size",
      JSON.stringify({ ...JSON.parse(image.manifest), config: { digest: sha256(""), size: -1 } }),
      "corrupt",
    ],
  ])("sends a manifest that is %s", async (_name, manifest, code) => {
    const other = { ...image, manifest, mediaType: "application/json", digest: sha256(manifest) };
    expect(await pullError(await serveImage(other))).toMatchObject({ code });
  });
});

describe("limits", () => {
  const zeros = layer({ name: "zeros", text: "\0".repeat(32 * 2 ** 20) });

  test.each([
    ["gzip", gzipSync],
    ["zstd", zstdCompressSync],
  ])("stop a compression bomb (%s)", async (_name, compress) => {
    const store = makeStore();
    const bomb = makeImage({ layers: [zeros], compress });
    const error = await pullError(await serveImage(bomb), { store, limits: { maxUnpackedBytes: 2 ** 20 } });
    expect(error).toMatchObject({ code: "too_large" });
    expect(error.message).toContain("1 MiB");
    expect(listStored(store)).toEqual([]);
  });

  test("apply to zeros after the end of the archive too", async () => {
    const bomb = makeImage({ layers: [Buffer.concat([layer(), Buffer.alloc(32 * 2 ** 20)])] });
    const error = await pullError(await serveImage(bomb), { limits: { maxUnpackedBytes: 2 ** 20 } });
    expect(error).toMatchObject({ code: "too_large" });
  });

  test("apply to the size in a header, before any data arrives", async () => {
    const lie = makeImage({ layers: [layer({ name: "file", size: 2 ** 32 })] });
    const error = await pullError(await serveImage(lie), { limits: { maxUnpackedBytes: 2 ** 30 } });
    expect(error).toMatchObject({ code: "too_large" });
  });

  test("apply to all layers together, also to those on this worker", async () => {
    const parts = ["a", "b"].map((name) => layer({ name, text: "x".repeat(100_000) }));
    const store = makeStore();
    await pull(await serveImage(makeImage({ layers: parts })), { store });
    const limits = { maxUnpackedBytes: 150_000 };
    expect(await pullError(await serveImage(makeImage({ layers: parts })), { store, limits })).toMatchObject({
      code: "too_large",
    });
  });

  test.each([
    ["entries", layer(...Array.from({ length: 20 }, (_, at) => ({ name: `f${at}` })))],
    ["whiteouts", layer(...Array.from({ length: 20 }, (_, at) => ({ name: `.wh.f${at}` })))],
    ["implied folders", layer({ name: `${"d/".repeat(20)}f` })],
  ])("apply to the number of %s", async (_name, tar) => {
    const many = makeImage({ layers: [tar] });
    expect(await pullError(await serveImage(many), { limits: { maxEntries: 10 } })).toMatchObject({
      code: "too_large",
    });
    await pull(await serveImage(many), { limits: { maxEntries: 50 } });
  });

  test.each([{ maxLayers: 0 }, { maxDownloadBytes: 1_000 }])("apply to the manifest: %j", async (limits) => {
    const never: Handler = () => {
      throw new Error("requested");
    };
    expect(await pullError(await serveImage(image, { blobs: never }), { limits })).toMatchObject({
      code: "too_large",
    });
  });
});

describe("a broken connection", () => {
  test("continues where it stopped", async () => {
    const ranges: (string | undefined)[] = [];
    const breaking: Handler = (request, response) => {
      ranges.push(request.headers.range);
      if (ranges.length > 2) return answer(image)(request, response);
      const from = ranges.length === 1 ? 0 : 4_000;
      const headers =
        from === 0 ? {} : { "content-range": `bytes ${from}-${blob.length - 1}/${blob.length}` };
      response.writeHead(from === 0 ? 200 : 206, { ...headers, "content-length": blob.length - from });
      response.write(blob.subarray(from, from + 4_000), () => response.destroy());
    };
    const { layers } = await pull(await serveImage(image, { [blobPath]: breaking }));
    expect(ranges).toEqual([undefined, "bytes=4000-", "bytes=8000-"]);
    expect(readFileSync(join(layers[0]?.path ?? "", "file")).length).toBe(10_000);
  });

  test.each([
    ["ignores the range", 200, {}],
    ["answers another range", 206, { "content-range": "bytes 0-1/2" }],
  ])("starts over if the registry %s", async (_name, status, headers) => {
    let requests = 0;
    const breaking: Handler = (_request, response) => {
      response.writeHead(requests === 0 ? 200 : status, { ...headers, "content-length": blob.length });
      if (requests++ === 0) response.write(blob.subarray(0, 4_000), () => response.destroy());
      else response.end(blob);
    };
    await pull(await serveImage(image, { [blobPath]: breaking }));
    expect(requests).toBe(2);
  });

  test("that never delivers anything ends the pull", async () => {
    let requests = 0;
    const broken: Handler = (_request, response) => {
      requests++;
      response.writeHead(200, { "content-length": blob.length });
      response.write("x", () => response.destroy());
    };
    expect(await pullError(await serveImage(image, { [blobPath]: broken }))).toMatchObject({
      code: "unreachable",
    });
    expect(requests).toBe(5);
  });

  test("a busy registry is asked again, and a broken one is reported", async () => {
    let requests = 0;
    const busy: Handler = (request, response) =>
      requests++ < 2
        ? response.writeHead(requests === 1 ? 429 : 503).end()
        : answer(image)(request, response);
    await pull(await serveImage(image, { "manifests/v1": busy }));
    expect(requests).toBe(3);
    const error = await pullError(
      await serveImage(image, { manifests: (_, response) => response.writeHead(500).end() }),
    );
    expect(error).toMatchObject({ code: "unreachable" });
    expect(error.message).toContain("status 500");
  });
});

describe("a redirect", () => {
  const redirect =
    (location: string): Handler =>
    (_request, response) =>
      response.writeHead(307, { location }).end();

  test("of a blob is followed without credentials", async () => {
    const seen: (string | undefined)[] = [];
    const storage = await serve((request, response) => {
      seen.push(request.headers.authorization);
      response.end(blob);
    });
    let isAuthorized = false;
    const reference = await serveImage(image, {
      manifests: (request, response) => {
        isAuthorized =
          request.headers.authorization === `Basic ${Buffer.from("me:secret").toString("base64")}`;
        if (isAuthorized) answer(image)(request, response);
        else response.writeHead(401, { "www-authenticate": 'Basic realm="x"' }).end();
      },
      [blobPath]: redirect(`http://${storage}/blob`),
    });
    await pull(reference, { credentials: "me:secret" });
    expect(isAuthorized).toBe(true);
    expect(seen).toEqual([undefined]);
  });

  test.each([
    "http://10.0.0.1/",
    "http://169.254.169.254/latest/meta-data",
    "https://[::1]:1/",
    "http://127.0.0.2:1/",
  ])("to %s is refused", async (location) => {
    const error = await pullError(await serveImage(image, { [blobPath]: redirect(location) }));
    expect(error).toMatchObject({ code: "unreachable" });
    expect(error.message).toContain("refused");
  });

  test.each(["file:///etc/passwd", "http://user:password@127.0.0.1/", "http://", `/v2/app/${blobPath}`])(
    "to %s is an error",
    async (location) => {
      const error = await pullError(await serveImage(image, { [blobPath]: redirect(location) }));
      expect(error).toMatchObject({ code: "unreachable" });
    },
  );
});

describe("a token server", () => {
  /** A registry that requires a token, and its token server, which requires a password. */
  async function startTokenServers(realm?: (host: string) => string) {
    const asked: { path: string; authorization: string | undefined }[] = [];
    let valid = "";
    const tokens = await serve((request, response) => {
      asked.push({ path: request.url ?? "", authorization: request.headers.authorization });
      const isMember =
        request.headers.authorization === `Basic ${Buffer.from("me:secret").toString("base64")}`;
      valid = `token-${asked.length}`;
      if (isMember) response.end(JSON.stringify({ token: valid, expires_in: 60 }));
      else response.writeHead(401).end();
    });
    const protect: Handler = (request, response) => {
      if (request.headers.authorization === `Bearer ${valid}`) return answer(image)(request, response);
      const challenge = `Bearer realm="${realm?.(tokens) ?? `http://${tokens}/token`}",service="my registry",scope="repository:other:push"`;
      response.writeHead(401, { "www-authenticate": challenge }).end();
    };
    const expireToken = () => {
      valid = "none";
    };
    const reference = await serveImage(image, { manifests: protect, blobs: protect });
    return { reference, asked, expireToken };
  }

  test("gets the credentials and the scope of this image only", async () => {
    const { reference, asked } = await startTokenServers();
    await pull(reference, { credentials: "me:secret" });
    expect(asked).toEqual([
      {
        path: "/token?service=my+registry&scope=repository%3Aapp%3Apull",
        authorization: `Basic ${Buffer.from("me:secret").toString("base64")}`,
      },
    ]);
  });

  test("is asked again when a token has expired", async () => {
    const { reference, asked, expireToken } = await startTokenServers();
    await pull(reference, {
      credentials: "me:secret",
      onProgress: ({ bytes }) => bytes === 0 && expireToken(),
    });
    expect(asked).toHaveLength(2);
  });

  test.each([undefined, "me:wrong"])(
    "that does not accept %s makes the pull unauthorized",
    async (credentials) => {
      const { reference } = await startTokenServers();
      const error = await pullError(reference, credentials === undefined ? {} : { credentials });
      expect(error).toMatchObject({ code: "unauthorized" });
      expect(error.remedy).toContain("user:token");
    },
  );

  test.each([
    ["http://169.254.169.254/token", "unreachable"],
    ["http://10.1.2.3/token", "unreachable"],
    ["file:///etc/passwd", "corrupt"],
    ["", "corrupt"],
  ])("at %j is not asked", async (realm, code) => {
    const { reference } = await startTokenServers(() => realm);
    expect(await pullError(reference, { credentials: "me:secret" })).toMatchObject({ code });
  });
});

test("a certificate that is not trusted never leads to plain HTTP", async () => {
  const folder = mkdtempSync(join(tmpdir(), "outrider-tls-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
  const names = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"];
  const kind = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"];
  execFileSync("openssl", ["req", ...kind, "-keyout", key, "-out", cert, ...names], { stdio: "ignore" });
  let requests = 0;
  const server = createServer({ key: readFileSync(key), cert: readFileSync(cert) }, () => requests++);
  let clients = 0;
  server.on("connection", () => clients++);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const error = await pullError(`127.0.0.1:${(server.address() as AddressInfo).port}/app:v1`, {
    exceptions: parseExceptions("127.0.0.1"),
  });
  expect(error).toMatchObject({ code: "unreachable" });
  expect(error.message).toMatch(/self.signed certificate/);
  expect({ requests, clients }).toEqual({ requests: 0, clients: 1 });
});
