/** Builds as images in a registry, which nodes pull instead of receiving the files through the API server. */
import { randomUUID } from "node:crypto";
import { mkdtempSync, openSync, statSync, writeFileSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { parseExceptions } from "../../src/egress/exceptions.ts";
import type { Log } from "../../src/log.ts";
import { removeFolder } from "../../src/remove-folder.ts";
import {
  type KubernetesOptions,
  openKubernetesProvider,
} from "../../src/sandboxes/kubernetes/kubernetes-provider.ts";
import type { OpenOptions, Sandbox, SandboxImage, SandboxProvider } from "../../src/sandboxes/sandbox.ts";
import { makeImage, push, type RegistryServer, startRegistry } from "../images/registry-server.ts";
import { systemLayer } from "../images/system-image.ts";
import { startTestInstallation } from "../installation.ts";
import { inMs, makeRoot, run } from "../sandboxes/sandbox-support.ts";
import { expose, type SharedCluster, sharedCluster, stopSharedCluster } from "./shared-cluster.ts";

const { signal } = new AbortController();
/** As `htpasswd -nbB me secret` prints it. */
const htpasswd = "me:$2b$04$wDvlQNIUtlZizmc3AYAbU.w3jDvv8syDiuUOfDhr/xpiGpDtsPYXy\n";
const repository = "outrider/builds";
const layer = systemLayer({ "etc/gone": "gone\n", "root/image": "image\n" });

describe("builds as images", () => {
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

  interface Opened {
    provider: SandboxProvider;
    root: string;
    warnings: string[];
    notices: string[];
    open(options?: Partial<OpenOptions>): Promise<Sandbox>;
  }

  /** Opens a worker that uses this registry. */
  async function openWorker(
    { host }: Pick<RegistryServer, "host">,
    { credentials, ...options }: Partial<KubernetesOptions> & { credentials?: string } = {},
  ): Promise<Opened> {
    const { root } = makeRoot();
    const { kubeconfig, systemImage, podFile } = shared;
    const warnings: string[] = [];
    const notices: string[] = [];
    const log: Log = {
      info() {},
      warn: (fields, message) => warnings.push(`${message}: ${(fields as { reason?: string }).reason}`),
      error() {},
    };
    const provider = await openKubernetesProvider({
      ...{ root, log, exceptions: parseExceptions("127.0.0.1") },
      kubernetes: {
        ...{ kubeconfig, systemImage, podFile },
        registry: { name: `${host}/${repository}`, credentials },
        ...options,
      },
    });
    onTestFinished(async () => {
      await provider.stop();
      await removeFolder(dirname(root));
    });
    const open = (more: Partial<OpenOptions> = {}) =>
      provider.open({
        ...{ id: randomUUID(), deadline: inMs(300_000), label: {}, ...more },
        onNotice: (message) => notices.push(message),
      });
    return { provider, root, warnings, notices, open };
  }

  async function pullImage({ provider }: Opened, from: RegistryServer = registry): Promise<SandboxImage> {
    if (!provider.images) throw new Error("This worker cannot use images.");
    const made = makeImage({ layers: [layer], config: { Env: ["FLAVOR=vanilla"] } });
    const reference = await push(from, "acme/system:1", made);
    return await provider.images.pull({ reference, digest: made.digest }, { signal });
  }

  const outputOf = async (sandbox: Sandbox, command: string) => {
    const { stdout, stderr } = await run(sandbox, `exec 2>&1; ${command}`);
    return stdout + stderr;
  };

  /** The image of the container of commands. */
  const imageOf = async (sandbox: Sandbox, container = "commands") => {
    const { pod } = sandbox as Sandbox & { pod: string };
    const { spec } = JSON.parse(await shared.cluster.kubectl(["get", "pod", pod, "--output=json"]));
    const all = [...(spec.initContainers ?? []), ...spec.containers];
    return all.find(({ name }: { name: string }) => name === container)?.image;
  };

  /** Overwrites what a worker would send, but not the description before it. */
  function destroyArchive({ root }: Opened, base: string): void {
    const path = join(root, ".kubernetes-bases", base);
    const start = 2048;
    writeSync(openSync(path, "r+"), Buffer.alloc(statSync(path).size - start, "x"), 0, undefined, start);
  }

  const change = `
    echo work > /workspace/file; echo home > ~/own; echo new > /etc/new; rm /etc/gone ~/image; rm -r /home/worker
    mkdir /opt/tool; echo x > /opt/tool/x; chown 12:34 /opt/tool/x; chmod 4750 /opt/tool/x; ln /opt/tool/x /opt/tool/y
    mkdir "/opt/$(seq -s- 60)"; ln -s x /opt/tool/link; touch -d 2001-02-03T04:05:06.25 /workspace/file`;
  const list = `
    cat /workspace/file ~/own /etc/new; ls /etc/gone ~/image /home; stat -c '%a %u %g %h %n' /opt/tool/x; readlink /opt/tool/link
    ls /opt; stat -c %y /workspace/file; ls -A ~ /workspace; cat /etc/os-release`;

  test("are pushed once, and pods start with their files without the worker's archive", async () => {
    const worker = await openWorker(registry);
    const { open, provider, notices, warnings } = worker;
    const image = await pullImage(worker);
    const origin = await open({ image });
    expect(await outputOf(origin, change)).toBe("");
    const expected = await outputOf(origin, list);
    expect(expected).toContain("'/etc/gone': No such file");
    const base = randomUUID();
    await provider.saveBase(origin, base);
    const first = await open({ image, base });
    expect(await outputOf(first, list)).toBe(expected);
    expect(
      await outputOf(first, "ls -A /opt/outrider; id -u; echo changed > /etc/new; rm /workspace/file"),
    ).toMatch(/0\n$/);
    const name = await imageOf(first);
    expect(name).toMatch(new RegExp(`^${registry.host}/${repository}@sha256:`));
    destroyArchive(worker, base);
    const second = await open({ image, base });
    expect(await outputOf(second, list)).toBe(expected);
    expect(await imageOf(second)).toBe(name);
    // Only what differs from the build is in a snapshot, also what was removed.
    await run(second, "echo more >> /workspace/file; rm ~/own");
    const third = await open({ image, base });
    await third.restore(second.snapshot());
    expect(await outputOf(third, "cat /workspace/file; ls ~/own")).toContain("work\nmore\n");
    expect(await outputOf(third, "ls ~/own")).toContain("No such file");
    // A base that is saved from this sandbox also has the files of the build.
    await run(second, "echo again > /etc/again");
    const again = randomUUID();
    await provider.saveBase(second, again);
    const fourth = await open({ image, base: again });
    expect(await outputOf(fourth, "cat /etc/again /etc/new /workspace/file; ls /etc/gone; ls ~/own")).toMatch(
      /^again\nnew\nwork\nmore\n.*No such file.*\n.*No such file.*\n$/,
    );
    expect([notices, warnings]).toEqual([[], []]);
  });

  test("without an image of the environment have the workspace and the home", async () => {
    const worker = await openWorker(registry);
    const { open, provider, notices } = worker;
    const origin = await open();
    const files =
      "mkdir d; echo base > d/file; echo gone > d/gone; echo own > ~/own; chmod 700 d; truncate -s 1M d/holes; echo end >> d/holes";
    expect(await outputOf(origin, files)).toBe("");
    const show = "cat d/file ~/own; ls d; stat -c '%a %u %g %s %n' d/* . ~; tail -c4 d/holes";
    const expected = await outputOf(origin, show);
    const base = randomUUID();
    await provider.saveBase(origin, base);
    const first = await open({ base });
    expect(await outputOf(first, show)).toBe(expected);
    expect(await imageOf(first)).toBe(shared.systemImage);
    expect(await imageOf(first, "build")).toMatch(new RegExp(`^${registry.host}/${repository}@sha256:`));
    destroyArchive(worker, base);
    const second = await open({ base });
    expect(await outputOf(second, show)).toBe(expected);
    await run(second, "rm d/gone; echo more >> d/file");
    const third = await open({ base });
    await third.restore(second.snapshot());
    expect(await outputOf(third, "ls d; cat d/file")).toBe("file\nholes\nbase\nmore\n");
    expect(notices).toEqual([]);
  });

  test("are pushed again if the registry has removed them, also from an image of another registry", async () => {
    const worker = await openWorker(registry);
    const { open, provider, notices } = worker;
    const other = await startRegistry();
    onTestFinished(() => other.close());
    await expose(shared.cluster, other.host);
    const image = await pullImage(worker, other);
    const origin = await open({ image });
    await run(origin, "echo new > /etc/new; rm /etc/gone");
    const base = randomUUID();
    await provider.saveBase(origin, base);
    const name = await imageOf(await open({ image, base }));
    const removed = await fetch(`http://${registry.host}/v2/${repository}/manifests/${name.split("@")[1]}`, {
      method: "DELETE",
    });
    expect(removed.status).toBe(202);
    const second = await open({ image, base });
    expect(await imageOf(second)).toBe(name);
    const manifest = await fetch(`http://${registry.host}/v2/${repository}/manifests/${name.split("@")[1]}`, {
      headers: { accept: "application/vnd.oci.image.manifest.v1+json" },
    });
    expect(manifest.status).toBe(200);
    expect(await outputOf(second, "cat /etc/new; ls /etc/gone; echo $FLAVOR")).toMatch(
      /^new\n.*No such file.*\nvanilla\n$/,
    );
    expect(notices).toEqual([]);
  });

  test("are restored from the archive while the registry does not respond", async () => {
    const own = await startRegistry();
    const worker = await openWorker(own);
    const { open, provider, notices, warnings } = worker;
    const origin = await open();
    await run(origin, "echo base > file");
    const base = randomUUID();
    await provider.saveBase(origin, base);
    await own.close();
    for (let attempt = 1; attempt <= 2; attempt++) {
      const sandbox = await open({ base });
      expect(await outputOf(sandbox, "cat file")).toBe("base\n");
      expect(await imageOf(sandbox, "build")).toBe(undefined);
      expect(notices).toHaveLength(attempt);
    }
    expect(notices[0]).toContain(`${own.host}`);
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain("restoring builds from blobs instead of images");
  });

  test("are restored from the archive if the registry does not accept the worker's credentials", async () => {
    const { open, provider, notices, warnings } = await openWorker(guarded, { credentials: "me:wrong" });
    expect(warnings).toEqual([
      expect.stringContaining("did not accept the credentials of OUTRIDER_KUBERNETES_REGISTRY_CREDENTIALS"),
    ]);
    const origin = await open();
    await run(origin, "echo base > file");
    const base = randomUUID();
    await provider.saveBase(origin, base);
    expect(await outputOf(await open({ base }), "cat file")).toBe("base\n");
    expect(notices).toEqual([expect.stringContaining("did not accept the credentials")]);
  });

  test("are restored from the archive if the node cannot pull them", async () => {
    const worker = await openWorker(guarded, { credentials: "me:secret" });
    const { open, provider, notices, warnings } = worker;
    const image = await pullImage(worker);
    const origin = await open({ image });
    await run(origin, "echo base > file; echo new > /etc/new; rm /etc/gone");
    const base = randomUUID();
    await provider.saveBase(origin, base);
    const sandbox = await open({ image, base });
    expect(await outputOf(sandbox, "cat file /etc/new; ls /etc/gone")).toMatch(/^base\nnew\n.*No such file/);
    expect(await imageOf(sandbox)).toContain("/acme/system@");
    expect(notices).toEqual([expect.stringMatching(/The node cannot pull the image .*imagePullSecrets/)]);
    expect(warnings).toEqual([expect.stringMatching(/The node cannot pull the image/)]);
    // The registry has no build that the node could pull now, so it is not tried again.
    expect(await imageOf(await open({ image, base }))).toContain("/acme/system@");
    await sandbox.close();
    expect(await shared.cluster.kubectl(["get", "pods", "--output=name"])).not.toContain("-blobs");
  });

  test("are prepared once for the runs of all workers, and a run that does without one says why", async () => {
    const own = await startRegistry();
    await expose(shared.cluster, own.host);
    const installation = await startTestInstallation();
    onTestFinished(() => installation.stop());
    const { kubeconfig, systemImage, podFile } = shared;
    const startWorker = () =>
      installation.worker({
        ...{ sandbox: "kubernetes", allowedAddresses: "127.0.0.1" },
        kubernetes: { kubeconfig, systemImage, podFile, registry: { name: `${own.host}/${repository}` } },
      });
    const body = {
      ...{
        name: randomUUID(),
        docker_image: await push(registry, "acme/system:1", makeImage({ layers: [layer] })),
      },
      setup_commands: ["echo work > /workspace/file; echo new > /etc/new; rm /etc/gone; mkdir /opt/tool"],
    };
    const { environment_id } = (await installation.call("POST", "/agent/environments", { body })).body;
    const show = ["RUN: cat /workspace/file /etc/new; ls /etc/gone /opt 2>&1"];
    const runOnce = async () => {
      const { output, events } = await installation.runIn(environment_id, show);
      expect(output).toMatch(/work\nnew\n.*'\/etc\/gone': No such file.*\n\/opt:\noutrider\ntool\n/);
      return events
        .filter(({ type, data }) => type === "notice" && data.code === "sandbox")
        .map(({ data }) => data.message);
    };
    const listTags = async () => {
      const answer = await fetch(`http://${own.host}/v2/${repository}/tags/list`);
      return ((await answer.json()) as { tags: string[] }).tags;
    };
    const first = await startWorker();
    expect(await runOnce()).toEqual([]);
    expect(await listTags()).toHaveLength(1);
    await first.drain();
    await startWorker();
    expect(await runOnce()).toEqual([]);
    expect(await listTags()).toHaveLength(1);
    await own.close();
    expect(await runOnce()).toEqual([
      expect.stringContaining("The build is restored without the registry, which takes longer."),
    ]);
  });

  test("are pulled with the operator's secret, and cannot be the image of an environment", async () => {
    const { cluster, podFile } = shared;
    const secret = `operator-${randomUUID().slice(0, 8)}`;
    await cluster.kubectl([
      ...["create", "secret", "docker-registry", secret, `--docker-server=${guarded.host}`],
      ...["--docker-username=me", "--docker-password=secret"],
    ]);
    onTestFinished(async () => void (await cluster.kubectl(["delete", "secret", secret])));
    const folder = mkdtempSync(join(tmpdir(), "outrider-pod-"));
    onTestFinished(() => removeFolder(folder));
    const ownFile = join(folder, "pod.yaml");
    writeFileSync(ownFile, `hostUsers: true\nimagePullSecrets: [{ name: ${secret} }]\n`);
    expect(podFile).not.toBe(ownFile);
    const worker = await openWorker(guarded, { credentials: "me:secret", podFile: ownFile });
    const { open, provider, notices } = worker;
    const image = await pullImage(worker);
    const origin = await open({ image });
    await run(origin, "echo new > /etc/new");
    const base = randomUUID();
    await provider.saveBase(origin, base);
    const sandbox = await open({ image, base });
    expect(await outputOf(sandbox, "cat /etc/new")).toBe("new\n");
    const name = await imageOf(sandbox);
    expect(name).toContain(`${guarded.host}/${repository}@`);
    expect(await outputOf(sandbox, "grep -r secret /proc/self/environ /workspace ~ /etc")).toBe("");
    const [reference, digest] = name.split("@");
    const owner = { signal, credentials: "me:secret", secretName: "REGISTRY" };
    await expect(provider.images?.resolve(`${reference}:1`, owner)).rejects.toThrow(
      "for the builds of this installation",
    );
    await expect(provider.images?.pull({ reference, digest }, owner)).rejects.toThrow(
      "for the builds of this installation",
    );
    expect(notices).toEqual([]);
  });
});
