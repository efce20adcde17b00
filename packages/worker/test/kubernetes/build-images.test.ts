/** Where the image of a build comes from, with a real registry. */
import { randomUUID } from "node:crypto";
import { mkdtempSync, readdirSync, writeFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { parseExceptions } from "../../src/egress/exceptions.ts";
import type { Log } from "../../src/log.ts";
import { removeFolder } from "../../src/remove-folder.ts";
import { KubernetesBases } from "../../src/sandboxes/kubernetes/bases/kubernetes-bases.ts";
import {
  BuildImages,
  type BuildImagesOptions,
} from "../../src/sandboxes/kubernetes/build-images/build-images.ts";
import { BuildRegistry } from "../../src/sandboxes/kubernetes/build-images/build-registry.ts";
import type { SandboxImage } from "../../src/sandboxes/sandbox.ts";
import { hostileTar, type Member } from "../escape/hostile-tar.ts";
import { layer, pull } from "../images/images-support.ts";
import { makeImage, push, type RegistryServer, startRegistry } from "../images/registry-server.ts";
import { serve } from "../images/stub-registry.ts";

const network = { exceptions: parseExceptions("127.0.0.1"), upstream: undefined };
const notPulled = () => {
  throw new Error("The image was not pulled by this worker.");
};
let registry: RegistryServer;
beforeAll(async () => {
  registry = await startRegistry();
});
afterAll(() => registry?.close());

function openImages(
  host: string,
  { credentials, ...options }: Partial<BuildImagesOptions> & { credentials?: string } = {},
) {
  const root = mkdtempSync(join(tmpdir(), "outrider-builds-"));
  const bases = new KubernetesBases(root);
  const warnings: string[] = [];
  const log: Log = {
    info() {},
    warn: (fields) => warnings.push((fields as { reason: string }).reason),
    error() {},
  };
  const name = `${host}/builds`;
  const folder = join(root, "layers");
  const images = new BuildImages({
    ...{ ...network, bases, images: { find: notPulled }, folder, log },
    registry: new BuildRegistry({ name, credentials }, network),
    ...options,
  });
  onTestFinished(async () => {
    await images.stop();
    await removeFolder(root);
  });
  const add = (members: Member[], base = randomUUID()) => {
    const archive = hostileTar(members);
    writeFileSync(join(root, ".kubernetes-bases", base), archive);
    return base;
  };
  return { images, add, warnings, folder, name };
}

const file = (text: string): Member => ({ name: "workspace/file", text });

test("an image is pushed once for all that need it, and found by other workers with the same content", async () => {
  const { images, add, name, folder, warnings } = openImages(registry.host);
  const text = randomUUID();
  const base = add([file(text)]);
  const found = await Promise.all([1, 2, 3].map(() => images.find(base, undefined)));
  const [first] = found;
  expect(first?.name).toMatch(new RegExp(`^${name}@sha256:[0-9a-f]{64}$`));
  expect(new Set(found.map((each) => each.name)).size).toBe(1);
  expect(readdirSync(folder)).toEqual([]);
  const requests: string[] = [];
  const other = openImages(await serveLogged(registry, requests));
  const again = await other.images.find(other.add([file(text)]), undefined);
  expect(again.name?.split("@")[1]).toBe(first?.name?.split("@")[1]);
  expect(requests).toEqual([expect.stringMatching(/^HEAD .*\/manifests\/build-/)]);
  const changed = await images.find(add([file("other")]), undefined);
  expect(changed.name).not.toBe(first?.name);
  expect(warnings).toEqual([]);
});

/** Passes requests to the registry. */
async function serveLogged(target: RegistryServer, requests: string[], delayMs = 0): Promise<string> {
  return await serve(async ({ method, url, headers, ...rest }: IncomingMessage, response) => {
    void rest;
    requests.push(`${method} ${url}`);
    await new Promise((resolve) => setTimeout(resolve, delayMs));
    const answer = await fetch(`http://${target.host}${url}`, {
      method: method ?? "GET",
      headers: { accept: headers.accept ?? "*/*" },
    });
    response.writeHead(answer.status, Object.fromEntries(answer.headers)).end();
  });
}

test("an image over that of the environment has its layers and configuration, and one more", async () => {
  const names = new Map<string, string>();
  const pushBase = async (text: string): Promise<SandboxImage> => {
    const made = makeImage({
      layers: [layer({ name: "etc/name", text })],
      config: { Env: ["A=b"], User: "worker" },
      docker: true,
    });
    const reference = await push(registry, "acme/base:1", made);
    const { digest } = made;
    names.set(digest, `${reference.replace(/:1$/, "")}@${digest}`);
    return { reference, digest, layers: [], env: {}, user: "root", osRelease: "" };
  };
  const find = ({ digest }: SandboxImage) => ({
    ...{
      name: names.get(digest) ?? "",
      accounts: "",
      home: undefined,
      credentials: undefined,
      registryCredentials: undefined,
    },
  });
  const { images, add } = openImages(registry.host, { images: { find } });
  const description = { name: "outrider-system.json", text: JSON.stringify({ accounts: "" }) };
  const base = add([description, { name: "etc/name", text: "upper" }]);
  const found = await images.find(base, await pushBase("lower"));
  const pulled = await pull(found.name ?? "");
  expect(pulled.config).toEqual({ env: { A: "b" }, user: "worker", workingDir: undefined });
  expect(pulled.layers).toHaveLength(2);
  const other = await images.find(base, await pushBase("another"));
  expect(other.name).toBeTruthy();
  expect(other.name).not.toBe(found.name);
});

test("a sandbox does not wait long for an image, which is pushed nevertheless", async () => {
  const { images, add, warnings } = openImages(registry.host, { waitMs: 0 });
  const base = add([file(randomUUID())]);
  const found = await images.find(base, undefined);
  expect([found.name, found.problem]).toEqual([undefined, undefined]);
  await expect.poll(async () => (await images.find(base, undefined)).name, { timeout: 20_000 }).toBeTruthy();
  expect(warnings).toEqual([]);
});

test("a registry that cannot be used is asked again only later, and named once in the log", async () => {
  const requests: string[] = [];
  const host = await serve(({ method, url }, response) => {
    requests.push(`${method} ${url}`);
    response.writeHead(400).end();
  });
  const { images, add, warnings } = openImages(host);
  const base = add([file("text")]);
  const problems = [await images.find(base, undefined), await images.find(base, undefined)].map(
    ({ problem }) => problem,
  );
  expect(problems[0]).toBe(problems[1]);
  expect(warnings).toEqual([problems[0]]);
  const count = requests.length;
  await images.find(base, undefined);
  expect(requests).toHaveLength(count);
});

test("a build that cannot be an image is restored otherwise, and others are pushed", async () => {
  const { images, add, warnings } = openImages(registry.host);
  const broken = await images.find(add([{ name: "workspace/.wh.x", text: "" }]), undefined);
  expect(broken).toMatchObject({ problem: expect.stringContaining("special meaning in images") });
  expect(warnings).toHaveLength(1);
  expect((await images.find(add([file(randomUUID())]), undefined)).name).toBeTruthy();
  // The layers of the environment's image may be missing.
  const image: SandboxImage = {
    reference: "x",
    digest: `sha256:${"2".repeat(64)}`,
    layers: [],
    env: {},
    user: "root",
    osRelease: "",
  };
  const missing = {
    name: `${registry.host}/acme/missing@${image.digest}`,
    accounts: "",
    home: undefined,
    credentials: undefined,
  };
  const other = openImages(registry.host, {
    images: { find: () => ({ ...missing, registryCredentials: undefined }) },
  });
  const description = { name: "outrider-system.json", text: JSON.stringify({ accounts: "" }) };
  const found = await other.images.find(other.add([description, file("text")]), image);
  expect(found.problem).toMatch(/^The layers of the environment's image cannot be copied\./);
  expect((await other.images.find(other.add([file(randomUUID())]), undefined)).name).toBeTruthy();
});

test("an image that a node cannot pull is not used for a while", async () => {
  const { images, add, warnings } = openImages(registry.host);
  const base = add([file(randomUUID())]);
  const { reportPullFailure } = await images.find(base, undefined);
  expect(reportPullFailure(new Error("The node cannot pull it."))).toBe("The node cannot pull it.");
  expect(await images.find(base, undefined)).toMatchObject({ problem: "The node cannot pull it." });
  expect(warnings).toEqual(["The node cannot pull it."]);
});

test("the check says what is wrong with the credentials", async () => {
  const host = await serve((_, response) => {
    response.writeHead(401, { "www-authenticate": 'Basic realm="test"' }).end();
  });
  for (const [credentials, reason] of [
    [
      undefined,
      `The registry ${host} requires credentials for ${host}/builds. Set OUTRIDER_KUBERNETES_REGISTRY_CREDENTIALS`,
    ],
    ["me:wrong", "did not accept the credentials of OUTRIDER_KUBERNETES_REGISTRY_CREDENTIALS"],
  ] as const) {
    const { images, warnings } = openImages(host, credentials === undefined ? {} : { credentials });
    await images.check();
    expect(warnings).toEqual([expect.stringContaining(reason)]);
  }
});

test("a worker that stops aborts what it pushes, and leaves no files", async () => {
  let isUploading = () => {};
  const uploading = new Promise<void>((resolve) => {
    isUploading = resolve;
  });
  const host = await serve(({ method, headers }, response) => {
    if (method === "HEAD") response.writeHead(404).end();
    else if (method === "POST") response.writeHead(202, { location: `http://${headers.host}/upload` }).end();
    else isUploading(); // no answer
  });
  const { images, add, folder, warnings } = openImages(host);
  const finding = images.find(add([file("text")]), undefined);
  await uploading;
  expect(readdirSync(folder)).toHaveLength(1);
  await images.stop();
  expect((await finding).name).toBe(undefined);
  expect(readdirSync(folder)).toEqual([]);
  expect(warnings).toEqual([]);
});

test("sandboxes that open later do not wait for a push that takes long", async () => {
  const host = await serve(({ method }, response) => {
    if (method === "HEAD") response.writeHead(404).end(); // no answer to others
  });
  const { images, add } = openImages(host, { waitMs: 500 });
  const base = add([file("text")]);
  await images.find(base, undefined);
  const startedAt = performance.now();
  for (let sandbox = 1; sandbox <= 5; sandbox++) await images.find(base, undefined);
  expect(performance.now() - startedAt).toBeLessThan(2000);
});

test.each([
  ["builds", /names no registry/],
  ["outrider/builds", /names no registry/],
  ["registry.example.com/builds:tag", /neither a tag nor a digest/],
  [`registry.example.com/builds@sha256:${"0".repeat(64)}`, /neither a tag nor a digest/],
  ["https://registry.example.com/builds", /not a valid repository/],
  ["registry.example.com/Builds", /not a valid repository/],
  ["registry.example.com", /names no registry|not a valid repository/],
])("the repository %s is refused", (name, reason) => {
  const attempt = () => new BuildRegistry({ name }, network);
  expect(attempt).toThrow(reason);
  expect(attempt).toThrow(
    /^--kubernetes-registry \(OUTRIDER_KUBERNETES_REGISTRY\) .*such as registry\.example\.com\/outrider\/builds\.$/,
  );
});

test.each([
  ["secret", /have another form/],
  ['{"auths":{"other.example.com":{"auth":"bWU6c2VjcmV0"}}}', /no entry for registry\.example\.com/],
])("the credentials %s are refused without quoting them", (credentials, reason) => {
  const attempt = () => new BuildRegistry({ name: "registry.example.com/builds", credentials }, network);
  expect(attempt).toThrow(reason);
  expect(attempt).toThrow(/^OUTRIDER_KUBERNETES_REGISTRY_CREDENTIALS is invalid\./);
  expect(attempt).not.toThrow(/bWU6/);
});

test("Docker's config.json has the credentials for several registries", () => {
  const credentials = JSON.stringify({ auths: { "registry.example.com": { auth: "bWU6c2VjcmV0" } } });
  expect(new BuildRegistry({ name: "registry.example.com/builds", credentials }, network).name).toBe(
    "registry.example.com/builds",
  );
});
