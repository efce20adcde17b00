/** Images for pods: where they come from, and who may use them. */
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, writeFileSync } from "node:fs";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { waitOptions } from "../../../../scripts/tests/wait-options.ts";
import { parseExceptions } from "../../src/egress/exceptions.ts";
import { ImageError } from "../../src/images/image-error.ts";
import { architectureOf } from "../../src/images/manifest.ts";
import { removeFolder } from "../../src/remove-folder.ts";
import {
  type KubernetesOptions,
  openKubernetesProvider,
} from "../../src/sandboxes/kubernetes/kubernetes-provider.ts";
import type { SandboxImage, SandboxProvider } from "../../src/sandboxes/sandbox.ts";
import { makeImage, push, type RegistryServer, startRegistry } from "../images/registry-server.ts";
import { busyboxLayer, systemLayer } from "../images/system-image.ts";
import { inMs, makeRoot, run, silent } from "../sandboxes/sandbox-support.ts";
import { expose, type SharedCluster, sharedCluster, stopSharedCluster } from "./shared-cluster.ts";

const { signal } = new AbortController();
/** As `htpasswd -nbB me secret` prints it. */
const htpasswd = "me:$2b$04$wDvlQNIUtlZizmc3AYAbU.w3jDvv8syDiuUOfDhr/xpiGpDtsPYXy\n";

describe("images of pods", () => {
  let shared: SharedCluster;
  let registry: RegistryServer;
  let guarded: RegistryServer;
  beforeAll(async () => {
    shared = await sharedCluster();
    registry = await startRegistry();
    guarded = await startRegistry({ htpasswd });
    guarded.headers = { authorization: `Basic ${Buffer.from("me:secret").toString("base64")}` };
    for (const { host } of [registry, guarded]) await expose(shared.cluster, host);
  });
  afterAll(async () => {
    await registry?.close();
    await guarded?.close();
    await stopSharedCluster();
  });

  async function open(options: Partial<KubernetesOptions> = {}): Promise<SandboxProvider> {
    const { root } = makeRoot();
    const { kubeconfig, systemImage, podFile } = shared;
    const provider = await openKubernetesProvider({
      ...{ root, log: silent, exceptions: parseExceptions("127.0.0.1") },
      kubernetes: { kubeconfig, systemImage, podFile, ...options },
    });
    onTestFinished(async () => {
      await provider.stop();
      await removeFolder(dirname(root));
    });
    return provider;
  }

  const imagesOf = ({ images }: SandboxProvider) => {
    if (!images) throw new Error("This worker cannot use images.");
    return images;
  };

  async function errorOf(attempt: Promise<unknown>): Promise<ImageError> {
    const error = await attempt.then(
      () => undefined,
      (reason) => reason,
    );
    expect(error).toBeInstanceOf(ImageError);
    return error as ImageError;
  }

  async function runIn(provider: SandboxProvider, image: SandboxImage, command: string): Promise<string> {
    const options = { id: randomUUID(), deadline: inMs(120_000), label: {}, image };
    const sandbox = await provider.open(options);
    try {
      const { stdout, stderr } = await run(sandbox, command);
      return stdout + stderr;
    } finally {
      await sandbox.close();
    }
  }

  /** Returns a kubeconfig file for a service account with these rights. */
  async function kubeconfigFor(rules: object[]): Promise<string> {
    const { cluster, kubeconfig } = shared;
    const name = `worker-${randomUUID().slice(0, 8)}`;
    const metadata = { name, namespace: "default" };
    const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name };
    const objects = [
      { apiVersion: "v1", kind: "ServiceAccount", metadata },
      { apiVersion: "rbac.authorization.k8s.io/v1", kind: "Role", metadata, rules },
      {
        ...{ apiVersion: "rbac.authorization.k8s.io/v1", kind: "RoleBinding", metadata, roleRef },
        subjects: [{ kind: "ServiceAccount", name, namespace: "default" }],
      },
    ];
    await cluster.kubectl(["apply", "-f", "-"], { apiVersion: "v1", kind: "List", items: objects });
    const token = (await cluster.kubectl(["create", "token", name])).trim();
    const config = JSON.parse(
      await cluster.kubectl([
        "config",
        "view",
        "--raw",
        "--flatten",
        "-o",
        "json",
        `--kubeconfig=${kubeconfig}`,
      ]),
    );
    config.users[0].user = { token };
    const path = join(mkdtempSync(join(tmpdir(), "outrider-kubeconfig-")), "config");
    onTestFinished(() => removeFolder(dirname(path)));
    writeFileSync(path, JSON.stringify(config));
    return path;
  }
  const podRules = [
    { apiGroups: [""], resources: ["pods"], verbs: ["get", "list", "watch", "create", "delete"] },
    { apiGroups: [""], resources: ["pods/exec"], verbs: ["get", "create"] },
  ];

  test("have the configuration of the image, and a small system is enough", async () => {
    const layer = busyboxLayer();
    if (!layer) throw new Error("busybox is not installed.");
    const provider = await open();
    const images = imagesOf(provider);
    const own = await startRegistry();
    await expose(shared.cluster, own.host);
    const made = makeImage({
      layers: [layer],
      config: { Env: ["PATH=/bin", "FLAVOR=vanilla"], WorkingDir: "/srv", User: "1234:4321" },
    });
    const reference = await push(own, "acme/small:1", made);
    expect(await images.resolve(reference, { signal })).toBe(made.digest);
    const messages: string[] = [];
    const onProgress = (message: string) => messages.push(message);
    const image = await images.pull({ reference, digest: made.digest }, { signal, onProgress });
    expect(image).toMatchObject({
      ...{ reference, digest: made.digest, user: "1234:4321", workingFolder: "/srv", osRelease: "" },
      env: { PATH: "/bin", FLAVOR: "vanilla" },
    });
    expect(messages.at(-1)).toMatch(/^The pod was ready after \d+\.\d s\.$/);
    expect(await runIn(provider, image, "id -u; id -g; echo $FLAVOR $HOME $0")).toBe(
      "1234\n4321\nvanilla /home/sandbox /bin/sh\n",
    );
    await own.close();
    // The registry is not needed again.
    const again = await images.pull({ reference, digest: made.digest }, { signal, onProgress });
    expect(again).toEqual(image);
    expect(messages.at(-1)).toBe("The nodes of the cluster have pulled the image before.");
  });

  test("start with the files that the image has in the home of its user", async () => {
    const provider = await open();
    const layer = systemLayer({ "home/worker/.config/tool": "text\n", "root/.rc": "root\n" });
    const made = makeImage({ layers: [layer], config: { User: "worker" } });
    const reference = await push(registry, "acme/home:1", made);
    const image = await imagesOf(provider).pull({ reference, digest: made.digest }, { signal });
    expect(image.osRelease).toBe('PRETTY_NAME="Test Linux 1"\n');
    const command = "cd; pwd; cat .config/tool; stat -c '%U %a' . .config/tool";
    expect(await runIn(provider, image, command)).toBe("/home/worker\ntext\nworker 755\nworker 644\n");
    expect(await runIn(provider, { ...image, user: "root" }, "cat ~/.rc")).toBe("root\n");
  });

  test("are pulled again if the registry was unavailable", async () => {
    const provider = await open();
    const made = makeImage({ layers: [systemLayer({ "etc/flaky": `${randomUUID()}\n` })] });
    await push(registry, "acme/flaky:1", made);
    const target = new URL(`http://${registry.host}`);
    let isAvailable = false;
    const statuses: (number | undefined)[] = [];
    // The worker always gets an answer, and the node only when it has begun to wait between its attempts.
    const flaky = createServer((incoming, response) => {
      const { url, method, headers } = incoming;
      if (!isAvailable && /containerd/i.test(headers["user-agent"] ?? "")) {
        statuses.push(503);
        response.writeHead(503).end();
        return;
      }
      const passed = request(new URL(url ?? "/", target), { method, headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 500, answer.headers);
        answer.pipe(response);
      });
      incoming.pipe(passed);
    });
    await once(flaky.listen(0, "127.0.0.1"), "listening");
    onTestFinished(() => void flaky.close());
    const host = `127.0.0.1:${(flaky.address() as AddressInfo).port}`;
    await expose(shared.cluster, host);
    const pulling = imagesOf(provider).pull(
      { reference: `${host}/acme/flaky:1`, digest: made.digest },
      { signal },
    );
    pulling.catch(() => {}); // reported below
    await vi.waitFor(async () => {
      const columns = "jsonpath={.items[*].status..state.waiting.reason}";
      expect(await shared.cluster.kubectl(["get", "pods", `--output=${columns}`])).toContain(
        "ImagePullBackOff",
      );
    }, waitOptions);
    expect(statuses).toContain(503);
    isAvailable = true;
    expect(await runIn(provider, await pulling, "grep -c . /etc/flaky")).toBe("1\n");
  });

  test("that do not exist, or not for this machine, are errors with a reason", async () => {
    const provider = await open();
    const images = imagesOf(provider);
    const missing = await errorOf(images.resolve(`${registry.host}/acme/missing:1`, { signal }));
    expect(missing.code).toBe("not_found");
    const architecture = architectureOf() === "amd64" ? "arm64" : "amd64";
    const foreign = makeImage({ layers: [systemLayer()], architecture });
    const reference = await push(registry, "acme/foreign:1", foreign);
    const error = await errorOf(images.pull({ reference, digest: foreign.digest }, { signal }));
    expect(error.message).toContain(
      `not available for linux/${architectureOf()}. Available: linux/${architecture}`,
    );
    expect(provider.count()).toBe(0);
  });

  test("are for those only who have the credentials, which reach the node with each pod", async () => {
    const kubeconfig = await kubeconfigFor([
      ...podRules,
      { apiGroups: [""], resources: ["secrets"], verbs: ["create"] },
    ]);
    const provider = await open({ kubeconfig });
    const images = imagesOf(provider);
    const made = makeImage({ layers: [systemLayer({ "etc/private": `${randomUUID()}\n` })] });
    const reference = await push(guarded, "acme/private:1", made);
    const { digest } = made;
    const owner = { signal, credentials: "me:secret", secretName: "REGISTRY" };
    expect((await errorOf(images.resolve(reference, { signal }))).code).toBe("unauthorized");
    const wrong = { signal, credentials: "me:not-the-password", secretName: "OTHER" };
    expect((await errorOf(images.pull({ reference, digest }, wrong))).code).toBe("unauthorized");
    expect(await images.resolve(reference, owner)).toBe(digest);
    const image = await images.pull({ reference, digest }, owner);
    expect(await runIn(provider, image, "grep -c . /etc/private")).toBe("1\n");
    // The node has the image now, which makes no difference.
    expect((await errorOf(images.pull({ reference, digest }, { signal }))).code).toBe("unauthorized");
    expect((await errorOf(images.pull({ reference, digest }, wrong))).code).toBe("unauthorized");
    await expect
      .poll(() => shared.cluster.kubectl(["get", "secrets", "-o", "name"]), { timeout: 60_000 })
      .toBe("");
  });

  test("cannot have a secret of the environment if the worker may not pass it to the node", async () => {
    const provider = await open({ kubeconfig: await kubeconfigFor(podRules) });
    const owner = { signal, credentials: "me:secret", secretName: "REGISTRY" };
    const error = await errorOf(imagesOf(provider).resolve(`${guarded.host}/acme/private:1`, owner));
    expect(error.message).toContain("may not create secrets in the namespace default");
    expect(error.remedy).toContain("sandboxes.pullSecrets");
  });

  test("are pulled with the operator's secret, if there is one", async () => {
    const { cluster } = shared;
    const name = `operator-${randomUUID().slice(0, 8)}`;
    await cluster.kubectl([
      ...["create", "secret", "docker-registry", name, `--docker-server=${guarded.host}`],
      ...["--docker-username=me", "--docker-password=secret"],
    ]);
    onTestFinished(async () => void (await cluster.kubectl(["delete", "secret", name])));
    const podFile = join(mkdtempSync(join(tmpdir(), "outrider-pod-")), "pod.yaml");
    onTestFinished(() => removeFolder(dirname(podFile)));
    writeFileSync(podFile, `imagePullSecrets: [{ name: ${name} }]\n`);
    const provider = await open({ kubeconfig: await kubeconfigFor(podRules), podFile });
    const made = makeImage({ layers: [systemLayer({ "etc/private": `${randomUUID()}\n` })] });
    const reference = await push(guarded, "acme/operator:1", made);
    const owner = { signal, credentials: "me:secret", secretName: "REGISTRY" };
    const image = await imagesOf(provider).pull({ reference, digest: made.digest }, owner);
    expect(await runIn(provider, image, "grep -c . /etc/private")).toBe("1\n");
  });
});
