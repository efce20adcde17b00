/**
 * Enforces the network policies of a test cluster with nftables, as a network plugin does: `cluster-policies.ts KUBECONFIG`.
 *
 * - It knows selectors of pods by labels, ingress from pods of the same namespace or from everyone, and egress to nowhere or to
 *   certain ports of everyone. Rules with anything else allow nothing.
 * - Until the address of a pod is known, which takes a moment, nothing but DNS leaves it. Later packets of its connections do.
 */
import { spawnSync } from "node:child_process";
import { setTimeout as delay } from "node:timers/promises";
import { ApiClient } from "./api-client.ts";

const intervalMs = 250;

interface Selector {
  matchLabels?: Record<string, string>;
}

interface Rule {
  from?: { podSelector?: Selector; namespaceSelector?: object }[];
  ports?: { port: number | string }[];
}

interface EgressRule {
  to?: object[];
  ports?: { port: number; protocol?: "TCP" | "UDP" }[];
}

interface Policy {
  metadata: { namespace: string };
  spec: { podSelector: Selector; policyTypes: string[]; ingress?: Rule[]; egress?: EgressRule[] };
}

interface Pod {
  metadata: { namespace: string; labels?: Record<string, string> };
  spec: {
    hostNetwork?: boolean;
    containers: { ports?: { name?: string; containerPort: number }[] }[];
  };
  status: { podIP?: string; phase: string };
}

const isSelected = ({ metadata: { labels = {} } }: Pod, { matchLabels = {} }: Selector) =>
  Object.entries(matchLabels).every(([name, value]) => labels[name] === value);

const hasAddress = ({ spec, status }: Pod) =>
  !spec.hostNetwork && status.podIP !== undefined && ["Pending", "Running"].includes(status.phase);

/** Returns a file for nft that replaces the rules before. */
function describeRules(all: Pod[], policies: Policy[]): string {
  const pods = all.filter(hasAddress);
  const policiesOf = (pod: Pod, type: string) =>
    policies.filter(
      ({ metadata, spec }) =>
        metadata.namespace === pod.metadata.namespace &&
        spec.policyTypes.includes(type) &&
        isSelected(pod, spec.podSelector),
    );
  const silent = pods.filter((pod) => policiesOf(pod, "Egress").length > 0);
  const ingress = pods.flatMap((pod) => {
    const rules = policiesOf(pod, "Ingress");
    if (rules.length === 0) return [];
    const allowed = rules.flatMap(({ spec }) => spec.ingress ?? []).map((rule) => allow(rule, pod, pods));
    return [...allowed, "reject"].map((rule) => `ip daddr ${pod.status.podIP} ${rule}`);
  });
  const egress = silent.flatMap((pod) =>
    policiesOf(pod, "Egress")
      .flatMap(({ spec }) => spec.egress ?? [])
      .flatMap(({ to, ports = [] }) => (to ? [] : ports))
      .map(
        ({ port, protocol = "TCP" }) =>
          `ip saddr ${pod.status.podIP} ${protocol.toLowerCase()} dport ${port} accept`,
      ),
  );
  const lines = [
    "ct state established,related accept",
    'iifname != "pods" accept',
    "ip saddr != @known udp dport 53 accept",
    "ip saddr != @known drop",
    ...egress,
    "ip saddr @silent reject",
    ...ingress,
  ];
  const hook = (name: string) => `chain ${name} { type filter hook ${name} priority -10; jump check; }`;
  return [
    "add table inet policies",
    "delete table inet policies",
    "table inet policies {",
    ...[setOf("known", pods), setOf("silent", silent)],
    `chain check {\n${lines.join("\n")}\n}`,
    ...["input", "forward"].map(hook),
    "}\n",
  ].join("\n");
}

function setOf(name: string, pods: Pod[]): string {
  const addresses = pods.map(({ status }) => status.podIP).join(", ");
  return `set ${name} { type ipv4_addr; ${addresses && `elements = { ${addresses} };`} }`;
}

function allow({ from, ports }: Rule, pod: Pod, pods: Pod[]): string {
  const sources = pods.filter(
    (other) =>
      other.metadata.namespace === pod.metadata.namespace &&
      from?.some(
        ({ podSelector, namespaceSelector }) =>
          podSelector && !namespaceSelector && isSelected(other, podSelector),
      ),
  );
  if (from && sources.length === 0) return "reject";
  const named = pod.spec.containers.flatMap((container) => container.ports ?? []);
  const numbers = ports?.map(
    ({ port }) => named.find(({ name }) => name === port)?.containerPort ?? Number(port),
  );
  return [
    ...(from ? [`ip saddr { ${sources.map(({ status }) => status.podIP).join(", ")} }`] : []),
    ...(numbers ? [`tcp dport { ${numbers.join(", ")} }`] : []),
    "accept",
  ].join(" ");
}

async function enforce(kubeconfig: string): Promise<never> {
  const api = new ApiClient(kubeconfig);
  const list = async <T>(path: string) => (await api.get(path)) as { items: T[] } | undefined;
  for (let before = ""; ; await delay(intervalMs)) {
    const pods = await list<Pod>("/api/v1/pods");
    const policies = await list<Policy>("/apis/networking.k8s.io/v1/networkpolicies");
    if (!pods || !policies) continue;
    const rules = describeRules(pods.items, policies.items);
    if (rules === before) continue;
    const { status, stderr } = spawnSync("nft", ["-f", "-"], { input: rules, encoding: "utf8" });
    if (status !== 0) throw new Error(`nft rejects the rules:\n${stderr}\n${rules}`);
    if (before === "") console.log("policies are enforced");
    before = rules;
  }
}

const [, , kubeconfig = ""] = process.argv;
await enforce(kubeconfig);
