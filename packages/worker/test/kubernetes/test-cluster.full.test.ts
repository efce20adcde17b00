import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { waitOptions } from "../../../../scripts/tests/wait-options.ts";
import { makeImage, push, startRegistry } from "../images/registry-server.ts";
import { systemLayer } from "../images/system-image.ts";
import { importBusybox, importSystemImage } from "./cluster-images.ts";
import { canRunClusters, startCluster, type TestCluster } from "./test-cluster.ts";

/** The first build of the cluster's programs takes some minutes. */
const timeout = 3_600_000;

describe.skipIf(!canRunClusters)("a cluster for tests", () => {
  let cluster: TestCluster;
  beforeAll(async () => {
    cluster = await startCluster();
  }, timeout);
  afterAll(() => cluster?.stop());

  const pod = (name: string, spec: object) => ({
    ...{ apiVersion: "v1", kind: "Pod", metadata: { name } },
    spec: { automountServiceAccountToken: false, restartPolicy: "Never", ...spec },
  });
  const create = async (name: string, spec: object) => {
    await cluster.kubectl(["create", "-f", "-"], pod(name, spec));
    await cluster.kubectl(["wait", "--for=condition=Ready", `pod/${name}`, "--timeout=120s"]);
  };
  const remove = (name: string) => cluster.kubectl(["delete", "pod", name, "--now"]);

  it("runs pods with imported images", async () => {
    for (const image of [await importBusybox(cluster), await importSystemImage(cluster)]) {
      await create("imported", { containers: [{ name: "main", image }] });
      expect(await cluster.kubectl(["exec", "imported", "--", "sh", "-c", "echo $((6 * 7))"])).toBe("42\n");
      await remove("imported");
    }
  });

  it("gives containers the node's limit of open files", async () => {
    await create("limited", { containers: [{ name: "main", image: await importBusybox(cluster) }] });
    const readLimit = ["-c", "ulimit -Hn"];
    const limit = await cluster.kubectl(["exec", "limited", "--", "sh", ...readLimit]);
    expect(limit).toBe(execFileSync("bash", readLimit, { encoding: "utf8" }));
    await remove("limited");
  });

  it("pulls images from a registry of this machine", async () => {
    const registry = await startRegistry();
    try {
      const config = { Cmd: ["/bin/sh", "-c", "sleep 1000"] };
      const image = await push(registry, "acme/system:1", makeImage({ layers: [systemLayer()], config }));
      await cluster.exposePort(Number(registry.host.split(":")[1]));
      await create("pulled", { containers: [{ name: "main", image }] });
      await remove("pulled");
    } finally {
      await registry.close();
    }
  });

  it("connects pods through the names of services", async () => {
    const image = await importBusybox(cluster);
    const serve = "mkdir /tmp/www; echo hello >/tmp/www/index.html; httpd -f -p 8080 -h /tmp/www";
    await cluster.kubectl(["run", "web", `--image=${image}`, "--", "sh", "-c", serve]);
    await cluster.kubectl(["expose", "pod", "web", "--port=80", "--target-port=8080"]);
    await create("client", { containers: [{ name: "main", image }] });
    await vi.waitFor(async () => {
      const request = `printf 'GET / HTTP/1.0\\r\\n\\r\\n' | nc -w 5 web.default.svc 80`;
      const response = await cluster.kubectl(["exec", "client", "--", "sh", "-c", request]);
      expect(response).toContain("hello");
    }, waitOptions);
    for (const name of ["web", "client"]) await remove(name);
    await cluster.kubectl(["delete", "service", "web"]);
  });

  it("enforces network policies", async () => {
    const image = await importBusybox(cluster);
    const policy = (name: string, spec: object) =>
      cluster.kubectl(["create", "--filename=-"], {
        ...{ apiVersion: "networking.k8s.io/v1", kind: "NetworkPolicy", metadata: { name }, spec },
      });
    const labeled = (name: string) => ({ podSelector: { matchLabels: { name } } });
    await policy("silent", { ...labeled("silent"), policyTypes: ["Egress"] });
    const ingress = [{ from: [labeled("friend")], ports: [{ port: 8080 }] }];
    await policy("closed", { ...labeled("closed"), policyTypes: ["Ingress"], ingress });
    const names = ["closed", "open", "friend", "silent"];
    for (const name of names) {
      const serve = ["sh", "-c", "httpd -f -p 8080 -h /tmp"];
      await cluster.kubectl(["run", name, `--image=${image}`, `--labels=name=${name}`, "--", ...serve]);
      await cluster.kubectl(["expose", "pod", name, "--port=80", "--target-port=8080"]);
    }
    await cluster.kubectl(["wait", "--for=condition=Ready", "pod", ...names, "--timeout=120s"]);
    await cluster.enforcePolicies();
    const addressOf = (name: string) =>
      cluster.kubectl(["get", "pod", name, "--output=jsonpath={.status.podIP}"]);
    /** Asks the service and the pod itself. */
    const reaches = async (from: string, to: string) => {
      const addresses = [`${to}.default.svc 80`, `${await addressOf(to)} 8080`];
      const request = (address: string) => `printf 'GET / HTTP/1.0\\r\\n\\r\\n' | nc -w 5 ${address}`;
      const script = addresses.map((address) => `${request(address)} | grep -o HTTP`).join("; ");
      return (
        (await cluster.kubectl(["exec", from, "--", "sh", "-c", `${script}; true`])).split("\n").length - 1
      );
    };
    await vi.waitFor(async () => expect(await reaches("open", "friend")).toBe(2), waitOptions);
    expect(await reaches("friend", "closed")).toBe(2);
    expect(await reaches("open", "closed")).toBe(0);
    expect(await reaches("silent", "open")).toBe(0);
    expect(await reaches("open", "silent")).toBe(2);
    // This machine is not a pod.
    const port = await cluster.openService("closed", "default");
    expect((await fetch(`http://127.0.0.1:${port}/`)).status).toBe(404);
    for (const name of names) await remove(name);
    await cluster.kubectl(["delete", "service", ...names]);
  });

  it("keeps pods while the API server restarts", async () => {
    const image = await importBusybox(cluster);
    await create("kept", { containers: [{ name: "main", image }] });
    await cluster.kill("kube-apiserver");
    await expect(cluster.kubectl(["get", "pods"])).rejects.toThrow();
    await cluster.restartApiServer();
    const status = await cluster.kubectl(["get", "pod", "kept", "-o", "jsonpath={.status.phase}"]);
    expect(status).toBe("Running");
    await remove("kept");
  });
});

/** Lists the processes whose command line or mounts contain the text. */
function processesWith(text: string): string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((pid) =>
      ["cmdline", "mountinfo"].some((file) => readIfRunning(`/proc/${pid}/${file}`).includes(text)),
    );
}

function readIfRunning(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

const findGroups = (name: string) =>
  ["", ...readdirSync("/sys/fs/cgroup")].filter((hierarchy) =>
    existsSync(`/sys/fs/cgroup/${hierarchy}/${name}`),
  );

it.skipIf(!canRunClusters)(
  "leaves nothing behind when the test process is killed",
  async () => {
    const script = `
      const { startCluster } = await import(${JSON.stringify(`${import.meta.dirname}/test-cluster.ts`)});
      const { importBusybox } = await import(${JSON.stringify(`${import.meta.dirname}/cluster-images.ts`)});
      const cluster = await startCluster();
      await cluster.kubectl(["run", "left", "--image=" + await importBusybox(cluster)]);
      await cluster.kubectl(["wait", "--for=condition=Ready", "pod/left", "--timeout=120s"]);
      console.log(cluster.folder);
      setInterval(() => {}, 1000);`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [folder] = await once(createInterface({ input: child.stdout }), "line");
    expect(findGroups(basename(folder))).not.toEqual([]);
    child.kill("SIGKILL");
    await vi.waitFor(() => expect(existsSync(folder)).toBe(false), waitOptions);
    await vi.waitFor(() => expect(processesWith(folder)).toEqual([]), waitOptions);
    expect(findGroups(basename(folder))).toEqual([]);
  },
  timeout,
);
