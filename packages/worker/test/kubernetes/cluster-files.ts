/** Writes the configuration of a test cluster with one node, and a script for each program that run-cluster.sh starts. */
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { kubeconfigOf, makeCertificates } from "./cluster-certificates.ts";

export const nodeIp = "10.99.0.2";
/** Where the node and its pods find a registry without TLS, once a test has exposed one there. */
export const nodeRegistry = `${nodeIp}:5000`;
export const nodeName = "node";
export const pauseImage = "outrider.test/pause:1";
const apiServer = "https://127.0.0.1:6443";
const etcd = "http://127.0.0.1:2379";
const etcdPeer = "http://127.0.0.1:2380";

export interface ClusterFiles {
  folder: string;
  /** The folder of the programs that scripts/kubernetes builds. */
  programs: string;
  /** Finds a program of .tools/engines. */
  findProgram: (name: string) => string;
  networkPlugins: string;
  /** A folder of this machine that is mounted into every container. */
  sharedFolder?: { source: string; target: string } | undefined;
}

/** Returns the kubeconfig of the cluster's admin for the address under which tests reach the API server. */
export async function writeClusterFiles(files: ClusterFiles, address: string): Promise<string> {
  const { folder } = files;
  for (const name of ["data", "logs", "programs", "network", "plugins"]) mkdirSync(join(folder, name));
  const write = (name: string, content: string | object) =>
    writeFileSync(join(folder, name), typeof content === "string" ? content : JSON.stringify(content));
  const addresses = ["127.0.0.1", "10.96.0.1", nodeIp];
  const certificates = await makeCertificates(join(folder, "certificates"), { addresses, nodeName });
  const { tokens } = certificates;
  write("kubeconfig", kubeconfigOf(certificates, address, tokens.admin));
  write("controllers.kubeconfig", kubeconfigOf(certificates, apiServer, tokens.admin));
  write("kubelet.kubeconfig", kubeconfigOf(certificates, apiServer, tokens.node));
  write("containerd.toml", containerdConfig(files));
  write("container.json", describeContainers(files));
  write("kubelet.json", kubeletConfig(folder));
  write("network/10-pods.conflist", networkConfig(folder));
  for (const [name, command] of Object.entries(programsOf(files)))
    write(`programs/${name}`, `exec ${command.join(" ")}\n`);
  return join(folder, "kubeconfig");
}

function containerdConfig({ folder, findProgram, networkPlugins }: ClusterFiles): string {
  const cri = '[plugins."io.containerd.grpc.v1.cri"';
  return `
version = 2
root = "${folder}/data/containerd"
state = "${folder}/data/containerd-state"
oom_score = 0
[grpc]
  address = "${folder}/containerd.sock"
${cri}]
  sandbox_image = "${pauseImage}"
  # Root in a container of CI may not be able to lower the score.
  restrict_oom_score_adj = true
  ${cri}.cni]
    bin_dir = "${networkPlugins}"
    conf_dir = "${folder}/network"
  ${cri}.registry.mirrors."${nodeRegistry}"]
    endpoint = ["http://${nodeRegistry}"]
  ${cri}.containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    base_runtime_spec = "${folder}/container.json"
    ${cri}.containerd.runtimes.runc.options]
      BinaryName = "${findProgram("runc")}"
[plugins."io.containerd.internal.v1.opt"]
  path = "${folder}/data/containerd-opt"
`;
}

/** What containers have before containerd adds what pods ask for. */
function describeContainers({ findProgram, sharedFolder }: ClusterFiles): object {
  const spec = JSON.parse(execFileSync(findProgram("ctr"), ["oci", "spec"], { encoding: "utf8" }));
  // Containers have the node's limit of open files, as without this file. init needs some for each command and connection.
  delete spec.process.rlimits;
  if (sharedFolder) {
    const { source, target } = sharedFolder;
    spec.mounts.push({ destination: target, type: "bind", source, options: ["rbind", "rw"] });
  }
  return spec;
}

function networkConfig(folder: string): object {
  const ipam = {
    ...{ type: "host-local", dataDir: `${folder}/data/addresses`, routes: [{ dst: "0.0.0.0/0" }] },
    ranges: [[{ subnet: "10.244.0.0/24" }]],
  };
  const bridge = { type: "bridge", bridge: "pods", isGateway: true, ipMasq: false, hairpinMode: true, ipam };
  return { cniVersion: "0.4.0", name: "pods", plugins: [bridge] };
}

function kubeletConfig(folder: string): object {
  return {
    ...{ apiVersion: "kubelet.config.k8s.io/v1beta1", kind: "KubeletConfiguration", address: nodeIp },
    authentication: {
      ...{ anonymous: { enabled: false }, webhook: { enabled: true } },
      x509: { clientCAFile: `${folder}/certificates/ca.crt` },
    },
    authorization: { mode: "Webhook" },
    containerRuntimeEndpoint: `unix://${folder}/containerd.sock`,
    ...{ cgroupDriver: "cgroupfs", cgroupRoot: `/${basename(folder)}`, enforceNodeAllocatable: [] },
    ...{ failCgroupV1: false, failSwapOn: false, makeIPTablesUtilChains: false },
    ...{ clusterDNS: [nodeIp], clusterDomain: "cluster.local", resolvConf: "" },
    ...{ podLogsDir: `${folder}/data/pod-logs`, volumePluginDir: `${folder}/plugins`, podPidsLimit: 2048 },
    ...{ imageGCHighThresholdPercent: 100, serializeImagePulls: false },
    // A full disk of the machine is no reason to evict pods of tests.
    evictionHard: {
      ...{ "memory.available": "10Mi", "nodefs.available": "0%", "nodefs.inodesFree": "0%" },
      "imagefs.available": "0%",
    },
    // Root in a container of CI may not be able to change all settings of the kernel.
    ...{ featureGates: { KubeletInUserNamespace: true }, oomScoreAdj: 0 },
    // Tests see changes soon.
    ...{ nodeStatusUpdateFrequency: "2s", nodeLeaseDurationSeconds: 8, syncFrequency: "10s" },
  };
}

function programsOf({ folder, programs, findProgram }: ClusterFiles): Record<string, string[]> {
  const certificate = (name: string) => join(folder, "certificates", name);
  const kubeconfig = (name: string) => `--kubeconfig=${join(folder, `${name}.kubeconfig`)}`;
  const program = (name: string) => join(programs, name);
  const node = program("node");
  return {
    etcd: [
      ...[findProgram("etcd"), `--name=${nodeName}`, `--data-dir=${folder}/data/etcd`, "--unsafe-no-fsync"],
      ...[`--listen-client-urls=${etcd}`, `--advertise-client-urls=${etcd}`],
      ...[`--listen-peer-urls=${etcdPeer}`, `--initial-advertise-peer-urls=${etcdPeer}`],
      `--initial-cluster=${nodeName}=${etcdPeer}`,
    ],
    dns: [
      ...[process.execPath, join(import.meta.dirname, "cluster-dns.ts"), nodeIp],
      join(folder, "controllers.kubeconfig"),
    ],
    policies: [
      ...[process.execPath, join(import.meta.dirname, "cluster-policies.ts")],
      join(folder, "controllers.kubeconfig"),
    ],
    containerd: [findProgram("containerd"), `--config=${folder}/containerd.toml`],
    "kube-apiserver": [
      ...[node, "kube-apiserver", `--etcd-servers=${etcd}`, "--service-cluster-ip-range=10.96.0.0/24"],
      ...["--bind-address=0.0.0.0", `--advertise-address=${nodeIp}`, "--allow-privileged=true"],
      ...[`--tls-cert-file=${certificate("api-server.crt")}`],
      ...[`--tls-private-key-file=${certificate("api-server.key")}`],
      ...[`--client-ca-file=${certificate("ca.crt")}`, `--token-auth-file=${certificate("tokens.csv")}`],
      ...["--service-account-issuer=https://kubernetes.default.svc"],
      ...[`--service-account-key-file=${certificate("service-accounts.pub")}`],
      ...[`--service-account-signing-key-file=${certificate("service-accounts.key")}`],
      ...["--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction"],
      ...[`--kubelet-client-certificate=${certificate("api-server-client.crt")}`],
      ...[`--kubelet-client-key=${certificate("api-server-client.key")}`],
      "--kubelet-preferred-address-types=InternalIP",
    ],
    "kube-controller-manager": [
      ...[node, "kube-controller-manager", kubeconfig("controllers"), "--leader-elect=false"],
      ...[`--service-account-private-key-file=${certificate("service-accounts.key")}`],
      ...[`--root-ca-file=${certificate("ca.crt")}`, "--use-service-account-credentials=true"],
      "--controllers=*,-node-ipam-controller,-cloud-node-lifecycle-controller",
      // A lost node is noticed within seconds instead of a minute.
      ...["--node-monitor-period=1s", "--node-monitor-grace-period=10s"],
    ],
    "kube-scheduler": [node, "kube-scheduler", kubeconfig("controllers"), "--leader-elect=false"],
    "kube-proxy": [
      ...[node, "kube-proxy", kubeconfig("controllers"), "--proxy-mode=nftables"],
      ...[`--hostname-override=${nodeName}`, "--cluster-cidr=10.244.0.0/16", "--conntrack-max-per-core=0"],
    ],
    kubelet: [
      ...[node, "kubelet", kubeconfig("kubelet"), `--config=${folder}/kubelet.json`],
      ...[`--root-dir=${folder}/data/kubelet`, `--cert-dir=${folder}/data/kubelet-certificates`],
      ...[`--hostname-override=${nodeName}`, `--node-ip=${nodeIp}`],
    ],
  };
}
