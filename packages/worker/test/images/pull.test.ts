import { execFile } from "node:child_process";
import {
  existsSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { zstdCompressSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { parseExceptions } from "../../src/egress/exceptions.ts";
import type { PullProgress } from "../../src/images/fetch-layers.ts";
import { type PulledImage, resolveDigest } from "../../src/images/images.ts";
import { architectureOf } from "../../src/images/manifest.ts";
import { removeFolder } from "../../src/remove-folder.ts";
import { layer, makeStore, pax, pull, pullError } from "./images-support.ts";
import { makeImage, makeIndex, push, type RegistryServer, sha256, startRegistry } from "./registry-server.ts";

const isRoot = process.getuid?.() === 0;
const run = promisify(execFile);
const signal = new AbortController().signal;
const exceptions = parseExceptions("127.0.0.1");
const pullScript = join(import.meta.dirname, "pull-image.ts");
let registry: RegistryServer;

function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "outrider-pull-"));
  onTestFinished(() => removeFolder(folder));
  return folder;
}

beforeAll(async () => {
  registry = await startRegistry();
});
afterAll(() => registry?.close());

const config = {
  Env: ["PATH=/opt/bin:/bin", "EMPTY=", "A=b=c", "not valid", "=x"],
  WorkingDir: "/srv",
  User: "postgres:5432",
  Cmd: ["sh"],
};

describe.each([
  { name: "a Docker image with gzip", docker: true },
  { name: "an OCI image with gzip" },
  { name: "an OCI image with zstd", compress: (tar: Buffer) => zstdCompressSync(tar) },
  {
    name: "an OCI image with a zstd frame for each kilobyte",
    compress: (tar: Buffer) =>
      Buffer.concat(
        Array.from({ length: Math.ceil(tar.length / 1024) }, (_, at) =>
          zstdCompressSync(tar.subarray(at * 1024, (at + 1) * 1024)),
        ),
      ),
  },
  { name: "an OCI image without compression", compress: (tar: Buffer) => tar },
])("$name", ({ docker = false, ...content }) => {
  test("is unpacked, with its configuration and the digest of its tag", async () => {
    const image = makeImage({
      layers: [
        layer(
          { name: "./", type: "5", mode: 0o755 },
          { name: "./etc/", type: "5", mode: 0o755 },
          { name: "./etc/name", text: "lower\n" },
          { name: "large", text: "x".repeat(300_000) },
        ),
        layer({ name: "etc/name", text: "upper\n", mode: 0o640 }),
      ],
      ...content,
      docker,
      config,
    });
    const reference = await push(registry, "acme/app:v1", image);
    const pulled = await pull(reference);
    expect(pulled).toMatchObject({
      reference: `${reference}@${image.digest}`,
      digest: image.digest,
      config: {
        env: { PATH: "/opt/bin:/bin", EMPTY: "", A: "b=c" },
        workingDir: "/srv",
        user: "postgres:5432",
      },
      notices: [],
    });
    const [lower = "", upper = ""] = pulled.layers.map(({ path }) => path);
    expect(readFileSync(join(lower, "etc/name"), "utf8")).toBe("lower\n");
    expect(readFileSync(join(lower, "large"), "utf8")).toBe("x".repeat(300_000));
    expect(readFileSync(join(upper, "etc/name"), "utf8")).toBe("upper\n");
    expect(statSync(join(upper, "etc/name")).mode & 0o7777).toBe(0o640);
    expect(await resolveDigest(reference, { exceptions, signal })).toBe(image.digest);
    expect((await pull(`${registry.host}/acme/app@${image.digest}`)).digest).toBe(image.digest);
  });
});

test("has no environment, folder or user if the image has none", async () => {
  const reference = await push(registry, "acme/plain:v1", makeImage({ layers: [layer()] }));
  expect((await pull(reference)).config).toEqual({ env: {}, workingDir: undefined, user: undefined });
});

describe.each([true, false])("an index (Docker's: %s)", (docker) => {
  const make = (architecture: string) =>
    makeImage({ layers: [layer({ name: "arch", text: architecture })], architecture, docker });

  test("selects the image for this machine", async () => {
    const images = [architectureOf(), "s390x"].map((architecture) => ({
      image: make(architecture),
      platform: { os: "linux", architecture },
    }));
    const attestation = { image: make("unknown"), platform: { os: "unknown", architecture: "unknown" } };
    for (const { image } of [...images, attestation]) await push(registry, "acme/multi", image);
    const index = makeIndex([attestation, ...images.toReversed()], docker);
    const { digest, layers } = await pull(await push(registry, "acme/multi:v1", index));
    expect(digest).toBe(index.digest);
    expect(readFileSync(join(layers[0]?.path ?? "", "arch"), "utf8")).toBe(architectureOf());
  });

  test("without this machine's architecture is rejected with what exists", async () => {
    const images = ["s390x", "mips"].map((architecture) => ({
      image: make(architecture),
      platform: { os: "linux", architecture, variant: architecture === "mips" ? "v1" : undefined },
    }));
    for (const { image } of images) await push(registry, "acme/foreign", image);
    const error = await pullError(await push(registry, "acme/foreign:v1", makeIndex(images, docker)));
    expect(error).toMatchObject({
      code: "wrong_architecture",
      message: `The image is not available for linux/${architectureOf()}. Available: linux/s390x, linux/mips/v1.`,
    });
  });
});

test("an image for another architecture is rejected without an index too", async () => {
  const image = makeImage({ layers: [layer()], architecture: "s390x" });
  const error = await pullError(await push(registry, "acme/s390x:v1", image));
  expect(error).toMatchObject({ code: "wrong_architecture" });
  expect(error.message).toContain("Available: linux/s390x.");
});

test.each(["missing:v1", "acme/app:missing", `acme/app@sha256:${"0".repeat(64)}`])(
  "%s is not found",
  async (name) => {
    const reference = `${registry.host}/${name}`;
    const error = await pullError(reference);
    expect(error).toMatchObject({ code: "not_found" });
    expect(error.message).toContain(reference);
    await expect(resolveDigest(`${registry.host}/missing`, { exceptions, signal })).rejects.toMatchObject({
      code: "not_found",
    });
  },
);

test("reports the bytes of each layer, and downloads no layer twice", async () => {
  const random = Buffer.alloc(3 * 2 ** 20, "0123456789abcdef").toString();
  const shared = layer({ name: "shared", text: random });
  const store = makeStore();
  const report: PullProgress[] = [];
  const onProgress = (progress: PullProgress) => report.push(progress);
  const compress = (tar: Buffer) => tar;
  const first = makeImage({ layers: [shared, layer({ name: "a" })], compress });
  const second = makeImage({ layers: [shared, layer({ name: "b" })], compress });

  await pull(await push(registry, "acme/first:v1", first), { store, onProgress });
  const ofShared = report.filter((each) => each.layer === 0);
  // How often a download is reported depends on how it arrives.
  const phases = ofShared.map(({ phase }) => phase);
  expect(phases.filter((phase, index) => phase !== phases[index - 1])).toEqual([
    ...["downloading", "unpacking", "done"],
  ]);
  expect(phases.filter((phase) => phase === "downloading").length).toBeGreaterThan(1);
  expect(ofShared[0]).toEqual({
    layer: 0,
    layers: 2,
    digest: sha256(shared),
    phase: "downloading",
    bytes: 0,
    totalBytes: shared.length,
  });
  expect(ofShared.map(({ bytes }) => bytes)).toEqual(
    ofShared.map(({ bytes }) => bytes).toSorted((a, b) => a - b),
  );
  expect(ofShared.at(-1)).toMatchObject({ bytes: shared.length });

  report.length = 0;
  await pull(await push(registry, "acme/second:v1", second), { store, onProgress });
  expect(report.filter((each) => each.layer === 0)).toMatchObject([
    { phase: "cached", bytes: shared.length },
  ]);
});

test("a layer that occurs several times is listed once, in its highest place", async () => {
  const [a, b] = [layer({ name: "a" }), layer({ name: "b" })];
  const { layers } = await pull(await push(registry, "acme/twice:v1", makeImage({ layers: [a, b, a] })));
  expect(layers.map(({ diffId }) => diffId)).toEqual([sha256(b), sha256(a)]);
});

test("concurrent pulls of one image in one process and in another create its layers once", async () => {
  const image = makeImage({ layers: [layer({ name: "x", text: "y".repeat(100_000) })] });
  const reference = await push(registry, "acme/concurrent:v1", image);
  const store = makeStore();
  const phases: string[] = [];
  const onProgress = ({ phase }: PullProgress) => phases.push(phase);
  const folder = makeFolder();
  symlinkSync(store.folder, join(folder, "layers"));
  const [other, ...images] = await Promise.all([
    run(process.execPath, [pullScript, reference, folder]),
    ...Array.from({ length: 4 }, () => pull(reference, { store, onProgress })),
  ]);
  const { phases: otherPhases } = JSON.parse(other.stdout);
  expect(new Set(images.map(({ layers }) => layers[0]?.path)).size).toBe(1);
  const ends = [...phases, ...otherPhases].filter((phase) => phase === "done" || phase === "cached");
  expect(ends.toSorted()).toEqual(["cached", "cached", "cached", "cached", "done"]);
});

/** Programs that run a command as another kind of user. */
const users = [
  { user: "this user", prefix: [], hasOwners: isRoot },
  ...(isRoot
    ? [
        {
          user: "an ordinary user",
          prefix: ["unshare", "--user", "--map-user=1000", "--map-group=1000"],
          hasOwners: false,
        },
      ]
    : []),
];

describe.each(users)("an overlay of the layers that $user pulls", ({ prefix, hasOwners }) => {
  test("shows what Docker would show", async () => {
    const long = `${"d".repeat(120)}/${"f".repeat(200)}`;
    const image = makeImage({
      config,
      layers: [
        layer(
          { name: "bin", type: "2", link: "usr/bin" },
          { name: "bin/tool", text: "tool", mode: 0o4755 },
          { name: "usr/bin/copy", type: "1", link: "bin/tool" },
          { name: "gone", text: "1" },
          { name: "gone-folder/a", text: "1" },
          { name: "opaque/", type: "5", mode: 0o755 },
          { name: "opaque/lower", text: "1" },
          { name: "opaque/sub/lower", text: "1" },
          { name: "replaced/lower", text: "1" },
          { name: "again/lower", text: "1" },
          { name: "kept/lower", text: "1" },
          { name: "null", type: "3" },
          { name: "pipe", type: "6" },
        ),
        layer(
          { name: ".wh.gone" },
          { name: ".wh.gone-folder" },
          // The marker of an opaque folder may come before or after the entries of the folder.
          { name: "opaque/upper", text: "2" },
          { name: "opaque/.wh..wh..opq" },
          { name: "opaque", type: "5", mode: 0o510, uid: 5, gid: 6 },
          { name: ".wh.replaced" },
          { name: "replaced", type: "5", mode: 0o700 },
          { name: "again/upper", text: "2" },
          { name: ".wh.again" },
          { name: "kept/.wh..wh.plnk", type: "5" },
          { name: "kept/upper", text: "2", uid: 1000, gid: 65_535 },
          { name: "tmp/file" },
          pax({ path: long, mtime: "1700000000.5" }),
          { name: "short" },
          { name: "n\u00e4me\n", text: "" },
        ),
      ],
    });
    const reference = await push(registry, "acme/overlay:v1", image);
    const [program = "", ...args] = [...prefix, process.execPath, pullScript, reference, makeFolder()];
    const { stdout } = await run(program, args);
    const { uid, tree, notices } = JSON.parse(stdout);
    expect(uid === 0).toBe(hasOwners);
    const owner = (text: string) => (hasOwners ? text : "0:0");
    expect(tree).toEqual(
      [
        ...["bin l 777 0:0 usr/bin", "usr d 755 0:0 ", "usr/bin d 755 0:0 "],
        ...[
          `usr/bin/tool f ${hasOwners ? "4755" : "755"} 0:0 `,
          `usr/bin/copy f ${hasOwners ? "4755" : "755"} 0:0 `,
        ],
        ...[`opaque d 510 ${owner("5:6")} `, "opaque/upper f 644 0:0 ", "replaced d 700 0:0 "],
        ...["again d 755 0:0 ", "again/upper f 644 0:0 "],
        ...["kept d 755 0:0 ", "kept/lower f 644 0:0 ", `kept/upper f 644 ${owner("1000:65535")} `],
        ...["tmp d 1777 0:0 ", "tmp/file f 644 0:0 "],
        ...[`${long.split("/")[0]} d 755 0:0 `, `${long} f 644 0:0 `],
        ...["n\ufffdme", " f 644 0:0 "],
      ].toSorted((a, b) => (a < b ? -1 : 1)),
    );
    expect(notices).toEqual([
      "The image contains 2 device files or pipes, which were left out.",
      ...(hasOwners ? [] : [expect.stringContaining("one user id for images, so 3 files")]),
    ]);
  });
});

test.runIf(isRoot)("file capabilities are kept, other attributes are left out", async () => {
  // Version 2 with CAP_NET_RAW, as `setcap` writes it.
  const capability = Buffer.from("0100000200200000000000000000000000000000", "hex").toString("latin1");
  const image = makeImage({
    layers: [
      layer(
        pax({
          "SCHILY.xattr.security.capability": capability,
          "SCHILY.xattr.trusted.overlay.opaque": "y",
          "SCHILY.xattr.user.overlay.redirect": "/etc",
        }),
        { name: "ping", mode: 0o755 },
      ),
    ],
  });
  const { layers, notices } = await pull(await push(registry, "acme/caps:v1", image));
  const path = join(layers[0]?.path ?? "", "ping");
  const script =
    "import os, sys; print(os.listxattr(sys.argv[1]), os.getxattr(sys.argv[1], 'security.capability').hex())";
  const { stdout } = await run("python3", ["-c", script, path]);
  expect(stdout.trim()).toBe("['security.capability'] 0100000200200000000000000000000000000000");
  expect(notices).toEqual(["The image contains 2 extended attributes, which were left out."]);
});

test("a layer that hides everything below it is the lowest one", async () => {
  const layers = [layer({ name: "a" }), layer({ name: "b" }, { name: ".wh..wh..opq" }), layer({ name: "c" })];
  const pulled = await pull(await push(registry, "acme/opaque:v1", makeImage({ layers })));
  expect(pulled.layers.map(({ diffId }) => diffId)).toEqual(layers.slice(1).map(sha256));
});

describe("a private registry", () => {
  // As `htpasswd -nbB me secret` prints it.
  const htpasswd = "me:$2b$04$wDvlQNIUtlZizmc3AYAbU.w3jDvv8syDiuUOfDhr/xpiGpDtsPYXy\n";
  const image = makeImage({ layers: [layer({ name: "a" })] });
  let secured: RegistryServer;
  let reference: string;

  beforeAll(async () => {
    secured = await startRegistry({ htpasswd });
    secured.headers.authorization = `Basic ${Buffer.from("me:secret").toString("base64")}`;
    reference = await push(secured, "private/app:v1", image);
  });
  afterAll(() => secured?.close());

  test("with Basic authentication requires credentials", async () => {
    expect((await pull(reference, { credentials: "me:secret" })).digest).toBe(image.digest);
    const auths = { [secured.host]: { auth: Buffer.from("me:secret").toString("base64") } };
    expect((await pull(reference, { credentials: JSON.stringify({ auths }) })).digest).toBe(image.digest);
    for (const credentials of [undefined, "me:wrong", '{"auths":{"ghcr.io":{"auth":"bWU6c2VjcmV0"}}}']) {
      const error = await pullError(reference, credentials === undefined ? {} : { credentials });
      expect(error).toMatchObject({ code: "unauthorized" });
      expect(error.message).not.toContain("wrong");
    }
  });
});

test("a registry with plain HTTP is refused unless the operator allows its address", async () => {
  const reference = await push(registry, "acme/plain-http:v1", makeImage({ layers: [layer()] }));
  for (const allowed of ["", "10.0.0.0/8", "127.0.0.1:1"]) {
    const error = await pullError(reference, { exceptions: parseExceptions(allowed) });
    expect(error).toMatchObject({ code: "unreachable" });
    expect(error.message).toContain("refused");
  }
  expect(await pull(reference, { exceptions: parseExceptions(registry.host) })).toBeTruthy();
});

test("an unreachable registry is named", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  const error = await pullError(`127.0.0.1:${port}/x`);
  expect(error).toMatchObject({ code: "unreachable" });
  expect(error.message).toContain(`127.0.0.1:${port}`);
});

describe("a digest that was pulled before", () => {
  const image = makeImage({
    layers: [layer({ name: "a" }), layer({ name: "b" }, { name: ".wh..wh..opq" })],
    config,
  });

  async function pullAndClose(options: object = {}) {
    const server = await startRegistry();
    const store = makeStore();
    const reference = await push(server, "acme/app:v1", image);
    const first = await pull(reference, { store, ...options });
    first.release();
    await server.close();
    return { store, first, pinned: `${reference}@${image.digest}` };
  }

  test("needs no registry", async () => {
    const { store, first, pinned } = await pullAndClose();
    const second = await pull(pinned, { store });
    const plain = ({ layers, release, ...rest }: PulledImage) => ({
      ...rest,
      layers: layers.map(({ diffId, path }) => ({ diffId, path })),
    });
    expect(plain(second)).toEqual(plain(first));
    expect(await pullError(pinned.replace("acme/app", "acme/other"), { store })).toMatchObject({
      code: "unreachable",
    });
  });

  test("needs the registry for another secret, and after a layer was removed", async () => {
    const { store, pinned } = await pullAndClose({ secretName: "team" });
    for (const secretName of [undefined, "other"])
      expect(await pullError(pinned, { store, secretName })).toMatchObject({ code: "unreachable" });
    const { layers, release } = await pull(pinned, { store, secretName: "team" });
    release();
    await removeFolder(layers[0]?.path ?? "");
    expect(await pullError(pinned, { store, secretName: "team" })).toMatchObject({ code: "unreachable" });
    const reference = await push(registry, "acme/other:v1", makeImage({ layers: [layer({ name: "c" })] }));
    await pull(reference, { store });
    expect(readdirSync(join(store.folder, ".images"))).toHaveLength(1);
  });
});

describe("the store", () => {
  const big = (name: string) => makeImage({ layers: [layer({ name, text: name.repeat(100_000) })] });

  test("removes layers that were not used for the longest time, but none in use", async () => {
    const store = makeStore(350_000);
    const names = ["a", "b", "c", "d"];
    const references: string[] = [];
    for (const name of names) references.push(await push(registry, `acme/big-${name}:v1`, big(name)));
    const [a = "", b = "", c = "", d = ""] = references;
    const used = await pull(a, { store });
    const diffIds: Record<string, string> = { a: used.layers[0]?.diffId ?? "" };
    const pullAndRelease = async (name: string, reference: string) => {
      const { layers, release } = await pull(reference, { store });
      diffIds[name] = layers[0]?.diffId ?? "";
      release();
    };
    await pullAndRelease("b", b);
    await pullAndRelease("c", c);
    store.acquire(diffIds.b ?? "")?.release();
    await pullAndRelease("d", d);
    const present = (name: string) => existsSync(join(store.folder, diffIds[name]?.slice(7, 27) ?? ""));
    expect(names.filter(present)).toEqual(["a", "b", "d"]);
    used.release();
    used.release();
    const stillUsed = store.acquire(diffIds.b ?? "");
    await pullAndRelease("c", c);
    expect(present("a")).toBe(false);
    stillUsed?.release();
    expect(readdirSync(store.folder).filter((name) => /^\.(draft|blob|removed)/.test(name))).toEqual([]);
  });

  test("removes what a crashed worker left behind, but nothing that is being created", async () => {
    const store = makeStore();
    const blocked = Promise.withResolvers<void>();
    const started = Promise.withResolvers<void>();
    const current = sha256("current");
    const unpacked = { archiveBytes: 0, isRootOpaque: false, entries: 0, diskBytes: 0 };
    const counts = { ...unpacked, skippedDevices: 0, droppedAttributes: 0, droppedOwners: 0 };
    const creating = store.ensure(
      current,
      async () => {
        started.resolve();
        await blocked.promise;
        return counts;
      },
      signal,
    );
    await started.promise;
    const crashed = sha256("crashed").slice(7, 27);
    await run("sh", [
      "-c",
      `cd "$1" && mkdir -p .draft-$2/a .removed-$2/b && touch .blob-$2 $2.json && chmod 0 .draft-$2/a`,
      ...["sh", store.folder, crashed],
    ]);
    await store.reap();
    expect(readdirSync(store.folder).filter((name) => name.includes(crashed))).toEqual([]);
    blocked.resolve();
    const created = await creating;
    expect(existsSync(created.path)).toBe(true);
  });

  test("leaves nothing behind if a pull is aborted, and another pull of the layer continues", async () => {
    const store = makeStore();
    const controller = new AbortController();
    const reference = await push(registry, "acme/abort:v1", big("x"));
    // The other pull starts later, because the first one must not find the layer.
    let other: Promise<PulledImage> | undefined;
    const aborted = pull(reference, {
      store,
      signal: controller.signal,
      onProgress: () => {
        controller.abort();
        other ??= pull(reference, { store });
      },
    });
    await expect(aborted).rejects.toThrow("aborted");
    const { layers } = await (other as Promise<PulledImage>);
    expect(lstatSync(join(layers[0]?.path ?? "", "x")).size).toBe(100_000);
    expect(readdirSync(store.folder).filter((name) => /^\.(draft|blob)/.test(name))).toEqual([]);
  });

  test("can be entered only by the worker", async () => {
    expect(statSync(makeStore().folder).mode & 0o777).toBe(0o700);
  });
});
