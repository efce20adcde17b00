/** What pods reach unless a policy denies it. */
import { lookup } from "node:dns/promises";
import { createServer } from "node:net";
import { networkInterfaces } from "node:os";
import type { V1Pod } from "@kubernetes/client-node";
import type { Cluster } from "../cluster/connect.ts";
import { runInPod } from "./pod-scripts.ts";

export interface Target {
  name: string;
  /** An address. */
  host: string;
  port: number;
  protocol: "tcp" | "udp";
}

const kubeletPort = 10250;
const dnsPort = 53;
/** Servers that everyone knows and that accept connections from everyone, for both versions of IP. */
const publicAddresses = ["1.1.1.1", "2606:4700:4700::1111"];
const maxWorkerAddresses = 8;

interface TargetOptions {
  cluster: Cluster;
  /** The name of the control pod, which has the DNS server of the cluster. */
  control: string;
  /** The canary. */
  pod: V1Pod | undefined;
  worker: { port: number };
  /** The URL of the Outrider server. */
  server: string | undefined;
}

/** Returns the targets of the versions of IP that the pod has. */
export async function findTargets(options: TargetOptions): Promise<Target[]> {
  const { cluster, control, pod, worker, server } = options;
  const { hostIP, hostIPs, podIP, podIPs } = pod?.status ?? {};
  const isIpv6 = (address: string) => address.includes(":");
  const versions = new Set(
    [...(podIPs ?? []).map(({ ip = "" }) => ip), podIP ?? ""].filter(Boolean).map(isIpv6),
  );
  const { api, nameServers } = await readControl(cluster, control);
  const tcp = (name: string, host: string, port: number): Target => ({ name, host, port, protocol: "tcp" });
  const nodes = new Set([...(hostIPs ?? []).map(({ ip = "" }) => ip), hostIP ?? ""].filter(Boolean));
  const all = [
    ...(api ? [tcp("the API server", api.host, api.port)] : []),
    ...[...nodes].map((host) => tcp("the kubelet of its node", host, kubeletPort)),
    ...nameServers.flatMap((host): Target[] => [
      tcp("the DNS server of the cluster", host, dnsPort),
      { name: "the DNS server of the cluster", host, port: dnsPort, protocol: "udp" },
    ]),
    ...(await findServer(server)).map(({ host, port }) => tcp("the Outrider server", host, port)),
    ...ownAddresses().map((host) => tcp("the worker", host, worker.port)),
    ...publicAddresses.map((host) => tcp("the Internet", host, 443)),
  ];
  return all.filter(({ host }) => versions.has(isIpv6(host)));
}

const address = /^[0-9a-f.:]+$/i;

/** Only the environment of a container has the address of the API server in the cluster. */
async function readControl(cluster: Cluster, control: string) {
  const script = `echo "$KUBERNETES_SERVICE_HOST $KUBERNETES_SERVICE_PORT"; sed -n 's/^nameserver //p' /etc/resolv.conf; echo done`;
  const [api = "", ...nameServers] = await runInPod(cluster, control, script);
  const [host = "", port = ""] = api.split(" ");
  return {
    api: address.test(host) ? { host, port: Number(port) } : undefined,
    nameServers: nameServers.map((line) => line.trim()).filter((line) => address.test(line)),
  };
}

/** The worker resolves the name, because the cluster may not know it. */
async function findServer(server: string | undefined): Promise<{ host: string; port: number }[]> {
  if (server === undefined) return [];
  const { hostname, port, protocol } = new URL(server);
  const found = await lookup(hostname.replace(/^\[|\]$/g, ""), { all: true }).catch(() => []);
  const number = Number(port) || (protocol === "https:" ? 443 : 80);
  // In a pod, its loopback is another one.
  return found
    .filter(({ address }) => !/^127\.|^::1$/.test(address))
    .map(({ address }) => ({ host: address, port: number }));
}

/** The addresses at which other machines may reach this one. */
function ownAddresses(): string[] {
  return Object.values(networkInterfaces())
    .flatMap((all) => all ?? [])
    .filter(({ internal, address }) => !internal && !/^fe80:/i.test(address))
    .slice(0, maxWorkerAddresses)
    .map(({ address }) => address);
}

/** Accepts connections at all addresses of this machine. */
export async function listenOnWorker(): Promise<{ port: number } & AsyncDisposable> {
  const listener = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve, reject) => {
    listener.once("error", reject);
    // Without a host, it is both versions of IP, if the machine has both.
    listener.listen(0, resolve);
  });
  const { port } = listener.address() as { port: number };
  return { port, [Symbol.asyncDispose]: async () => void listener.close() };
}
