import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { packChart } from "../../scripts/release/chart.ts";
import { readCheckout } from "../../scripts/release/checkout.ts";
import { root } from "../process.ts";
import { allValues, bundledValues, externalValues } from "./chart-values.ts";
import { chartFolder, kubernetesVersion, type Manifest, renderChart, runProgram } from "./helm.ts";

/** Checks the chart without a cluster. The first test builds Helm, which takes some minutes. */
const timeout = 1_800_000;

const cases: Record<string, object> = { external: externalValues, bundled: bundledValues, all: allValues };
const rendered: Record<string, Manifest[]> = {};

beforeAll(async () => {
  for (const [name, values] of Object.entries(cases)) rendered[name] = await renderChart(values);
}, timeout);

const allManifests = () => Object.values(rendered).flat();
const podTemplates = (manifests: Manifest[]) =>
  manifests
    .filter(({ spec }) => spec?.template?.spec)
    .map(({ kind, metadata, spec }) => ({ name: `${kind} ${metadata.name}`, pod: spec.template.spec }));

describe("the Helm chart", () => {
  it.each(Object.entries(cases))("passes helm lint with the values %s", async (_name, values) => {
    const output = await runProgram(
      "helm",
      ["lint", "--strict", kubernetesVersion, "--values=-", chartFolder],
      JSON.stringify(values),
    );
    expect(output).toContain("0 chart(s) failed");
  });

  it.each([
    [
      "server.publicUrl must be the https URL",
      { server: { ...externalValues.server, publicUrl: "http://outrider" } },
    ],
    [
      "server.trustedProxies, if a proxy does",
      { server: { ...externalValues.server, tls: { existingSecret: "" } } },
    ],
    ["masterKey.existingSecret must be the name", { server: { ...externalValues.server, masterKey: {} } }],
    ["either postgresql.external.existingSecret or", { postgresql: {} }],
    [
      "either postgresql.external.existingSecret or",
      { postgresql: { ...externalValues.postgresql, bundled: { enabled: true } } },
    ],
    ["either storage.external.url or", { storage: {} }],
    ["contains the name one twice", { workers: [{ name: "one" }, { name: "one" }] }],
    ["need workerDefaults.key.existingSecret", { workerDefaults: {} }],
    ["needs autoscaling.existingSecret", { workers: [{ name: "one", autoscaling: { enabled: true } }] }],
    [
      "have registry.existingSecret, but no registry.repository",
      { workerDefaults: { ...externalValues.workerDefaults, registry: { existingSecret: "builds" } } },
    ],
    ["additional properties 'replica' not allowed", { server: { ...externalValues.server, replica: 1 } }],
    [
      "additional properties 'hostNetwork' not allowed",
      { workers: [{ name: "one", pod: { hostNetwork: true } }] },
    ],
  ])("refuses wrong values: %s", async (message, values) => {
    await expect(renderChart({ ...externalValues, ...values })).rejects.toThrow(message);
  });

  it("is the same in a release", async () => {
    const folder = mkdtempSync(join(tmpdir(), "outrider-chart-"));
    try {
      const file = packChart(readCheckout(root), folder);
      expect(await renderChart(bundledValues, file)).toEqual(rendered.bundled);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it("warns if a token of a worker leads to the secrets of the servers", async () => {
    const notesFor = async (values: object) => {
      const folder = mkdtempSync(join(tmpdir(), "outrider-chart-"));
      try {
        cpSync(chartFolder, folder, { recursive: true });
        // Without a cluster, Helm renders templates but no notes.
        const notes = readFileSync(join(folder, "templates/NOTES.txt"), "utf8").replaceAll(/^/gm, "  ");
        writeFileSync(join(folder, "templates/notes.yaml"), `kind: Notes\ntext: |\n${notes}`);
        const manifests = await renderChart(values, folder);
        return manifests.find(({ kind }) => kind === "Notes")?.text as string;
      } finally {
        rmSync(folder, { recursive: true });
      }
    };
    const warning = "WARNING: The pods of sandboxes are in the same namespace as the servers.";
    expect(await notesFor(externalValues)).toContain(warning);
    expect(await notesFor({ ...externalValues, sandboxes: { namespace: "outrider" } })).toContain(warning);
    const separate = await notesFor({ ...externalValues, sandboxes: { namespace: "sandboxes" } });
    expect(separate).toContain("Print a one-time sign-in link");
    expect(separate).not.toContain("WARNING");
  });

  it("gives every pod the rights of an ordinary user only", () => {
    const templates = podTemplates(allManifests());
    expect(templates.length).toBeGreaterThan(8);
    for (const { name, pod } of templates) {
      expect(pod.securityContext, name).toMatchObject({
        runAsNonRoot: true,
        seccompProfile: { type: "RuntimeDefault" },
      });
      expect(pod.securityContext.runAsUser, name).toBeGreaterThan(0);
      for (const field of ["hostNetwork", "hostPID", "hostIPC"]) expect(pod[field], name).toBeUndefined();
      expect(
        pod.volumes.filter((volume: object) => "hostPath" in volume),
        name,
      ).toEqual([]);
      for (const container of [...pod.containers, ...(pod.initContainers ?? [])]) {
        expect(container.securityContext, name).toEqual({
          ...{
            allowPrivilegeEscalation: false,
            readOnlyRootFilesystem: true,
            capabilities: { drop: ["ALL"] },
          },
        });
        expect(container.ports?.filter((port: object) => "hostPort" in port) ?? [], name).toEqual([]);
        expect(container.resources.limits.memory, name).toBeDefined();
      }
    }
  });

  it("gives only workers a token, for pods and commands in them in one namespace", () => {
    for (const { name, pod } of podTemplates(allManifests()))
      expect(pod.automountServiceAccountToken, name).toBe(name.includes("-worker-"));
    for (const { kind, automountServiceAccountToken } of allManifests())
      if (kind === "ServiceAccount") expect(automountServiceAccountToken).toBe(false);
    const roles = allManifests().filter(({ kind }) => kind === "Role");
    expect(roles.map(({ metadata }) => metadata.namespace)).toEqual(["outrider", "outrider", "sandboxes"]);
    for (const { rules } of roles)
      expect(rules).toEqual([
        { apiGroups: [""], resources: ["pods"], verbs: ["get", "list", "create", "delete"] },
        { apiGroups: [""], resources: ["pods/exec"], verbs: ["get", "create"] },
      ]);
    expect(allManifests().filter(({ kind }) => kind.startsWith("Cluster"))).toEqual([]);
  });

  it("lets workers create secrets for pulls only if the operator allows it", async () => {
    const manifests = await renderChart({ ...externalValues, sandboxes: { pullSecrets: true } });
    const [role] = manifests.filter(({ kind }) => kind === "Role");
    expect(role?.rules).toEqual([
      { apiGroups: [""], resources: ["pods"], verbs: ["get", "list", "create", "delete"] },
      { apiGroups: [""], resources: ["pods/exec"], verbs: ["get", "create"] },
      { apiGroups: [""], resources: ["secrets"], verbs: ["create"] },
    ]);
  });

  it("lets workers list events only if the operator allows it", async () => {
    const manifests = await renderChart({ ...externalValues, sandboxes: { readEvents: true } });
    const [role] = manifests.filter(({ kind }) => kind === "Role");
    expect(role?.rules).toEqual([
      { apiGroups: [""], resources: ["pods"], verbs: ["get", "list", "create", "delete"] },
      { apiGroups: [""], resources: ["pods/exec"], verbs: ["get", "create"] },
      { apiGroups: [""], resources: ["events"], verbs: ["list"] },
    ]);
  });

  it("can stop all workers of a pool", async () => {
    const manifests = await renderChart({ ...externalValues, workers: [{ name: "none", replicas: 0 }] });
    const [worker] = manifests.filter(
      ({ kind, metadata }) => `${kind} ${metadata.name}` === "Deployment outrider-worker-none",
    );
    expect(worker?.spec.replicas).toBe(0);
  });

  it("contains no secret, and reads secrets only where they are used", () => {
    expect(allManifests().filter(({ kind }) => kind === "Secret")).toEqual([]);
    const variablesOf = (kind: string, name: string) =>
      rendered.bundled?.find(({ kind: found, metadata }) => found === kind && metadata.name === name)?.spec
        .template.spec.containers[0].env as {
        name: string;
        valueFrom?: { secretKeyRef: { name: string } };
      }[];
    const secretsOf = (kind: string, name: string) =>
      variablesOf(kind, name).flatMap(({ valueFrom }) => valueFrom?.secretKeyRef.name ?? []);
    expect(secretsOf("Deployment", "outrider-worker-default")).toEqual(["outrider-worker-key"]);
    expect(secretsOf("Job", "outrider-migrations")).toEqual(["outrider-database"]);
  });

  it("passes the registry of builds and its secret to workers only", () => {
    const variables = (name: string) =>
      podTemplates(rendered[name] ?? []).flatMap(({ name: pod, pod: { containers } }) =>
        containers
          .flatMap(({ env = [] }: { env?: { name: string }[] }) => env)
          .filter((variable: { name: string }) => variable.name.startsWith("OUTRIDER_KUBERNETES_REGISTRY"))
          .map((variable: object) => ({ pod, ...variable })),
      );
    expect(variables("external")).toEqual([]);
    const [repository, credentials] = variables("all");
    expect(repository).toEqual({
      ...{ pod: "Deployment agents-worker-default", name: "OUTRIDER_KUBERNETES_REGISTRY" },
      value: "registry.example.com/outrider/builds",
    });
    expect(credentials).toMatchObject({
      name: "OUTRIDER_KUBERNETES_REGISTRY_CREDENTIALS",
      valueFrom: { secretKeyRef: { name: "builds-registry", key: ".dockerconfigjson" } },
    });
    expect(variables("all").every(({ pod }: { pod: string }) => pod.includes("-worker-"))).toBe(true);
  });

  it("denies all traffic of sandboxes", () => {
    const policies = allManifests().filter(({ metadata }) => metadata.name.endsWith("-sandboxes"));
    expect(policies.map(({ metadata }) => metadata.namespace)).toEqual(["outrider", "outrider", "sandboxes"]);
    for (const { spec } of policies)
      expect(spec).toEqual({
        podSelector: {
          matchLabels: {
            "app.kubernetes.io/managed-by": "outrider",
            "app.kubernetes.io/component": "sandbox",
          },
        },
        policyTypes: ["Ingress", "Egress"],
      });
  });

  it("gives a worker time to drain before it is killed", () => {
    const workers = podTemplates(allManifests()).filter(({ name }) => name.includes("-worker-"));
    for (const { pod } of workers) {
      const { args } = pod.containers[0];
      const drainSeconds = Number(args[args.indexOf("--drain-seconds") + 1]);
      expect(pod.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(drainSeconds + 30);
    }
  });

  it("stops a worker only when its successor claims runs", () => {
    const workers = allManifests().filter(
      ({ kind, metadata }) => kind === "Deployment" && metadata.name.includes("-worker-"),
    );
    for (const { spec } of workers) {
      expect(spec).toMatchObject({
        ...{ minReadySeconds: 15, strategy: { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } } },
      });
      const [{ args, readinessProbe }] = spec.template.spec.containers;
      const folder = args[args.indexOf("--data-dir") + 1];
      expect(readinessProbe).toMatchObject({
        exec: { command: ["test", "-e", `${folder}/ready`] },
        ...{ periodSeconds: 5, failureThreshold: 2 },
      });
    }
  });

  it("leaves the number of pods to an autoscaler", () => {
    const find = (kind: string, name: string) =>
      rendered.all?.find(({ kind: found, metadata }) => found === kind && metadata.name === name)?.spec;
    for (const name of ["agents-server", "agents-worker-gpu"])
      expect(find("Deployment", name)).not.toHaveProperty("replicas");
    expect(find("Deployment", "agents-worker-default").replicas).toBe(3);
    expect(find("HorizontalPodAutoscaler", "agents-server")).toMatchObject({
      minReplicas: 2,
      maxReplicas: 6,
    });
    expect(find("ScaledObject", "agents-worker-gpu")).toMatchObject({
      ...{ minReplicaCount: 0, scaleTargetRef: { name: "agents-worker-gpu" } },
      advanced: { scalingModifiers: { formula: "queued + running", target: "4" } },
      triggers: ["queued", "running"].map((name) => ({
        name,
        metadata: {
          url: "https://outrider.example.com/api/v1/workers/demand?pool=gpu",
          valueLocation: `pools.0.${name}`,
        },
      })),
    });
  });
});
