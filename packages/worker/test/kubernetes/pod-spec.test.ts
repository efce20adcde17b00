import type { V1Container } from "@kubernetes/client-node";
import { describe, expect, test } from "vitest";
import { describePullSecret } from "../../src/sandboxes/kubernetes/images/pull-secret.ts";
import { sandboxMetadata } from "../../src/sandboxes/kubernetes/labels.ts";
import { describePod, type PodPlan } from "../../src/sandboxes/kubernetes/pods/pod-spec.ts";

const owner = { installation: "acme", worker: "worker-1" };
const plan: PodPlan = {
  metadata: sandboxMetadata(owner, { sandbox: "run-1", label: { run_id: "run-1" } }),
  ...{ home: "/home/sandbox", fillsHome: true },
  ...{ systemImage: "outrider-worker:1", image: undefined, bundles: [], hosts: undefined, maxSeconds: 600 },
  ...{ limits: { memory_mb: 4096, disk_mb: 1024 }, requested: {}, options: {} },
  initArguments: (kind) => ["pod", kind, "secret", "1000"],
};
const specOf = (more: Partial<PodPlan> = {}) => {
  const { spec } = describePod({ ...plan, ...more });
  if (!spec) throw new Error("no spec");
  return spec;
};
const containersOf = (more: Partial<PodPlan> = {}): V1Container[] => {
  const { containers, initContainers = [] } = specOf(more);
  return [...initContainers, ...containers];
};

describe.each([undefined, "acme/app@sha256:1"])("a pod with the image %s", (image) => {
  test("has no privileges, no token of the cluster and nothing of the node", () => {
    const spec = specOf({ image });
    expect(spec).toMatchObject({
      ...{ automountServiceAccountToken: false, enableServiceLinks: false, shareProcessNamespace: false },
      ...{ activeDeadlineSeconds: 600, dnsPolicy: "None" },
      securityContext: { seccompProfile: { type: "RuntimeDefault" } },
    });
    for (const name of ["hostNetwork", "hostPID", "hostIPC", "serviceAccountName"])
      expect(spec).not.toHaveProperty(name);
    for (const volume of spec.volumes ?? []) expect(Object.keys(volume)).toEqual(["name", "emptyDir"]);
    for (const { securityContext, env, envFrom } of containersOf({ image })) {
      expect(securityContext).toMatchObject({ privileged: false, allowPrivilegeEscalation: false });
      expect(securityContext?.capabilities?.drop).toEqual(["ALL"]);
      for (const name of ["SYS_ADMIN", "SYS_PTRACE", "NET_ADMIN", "NET_RAW", "MKNOD", "SYS_MODULE"])
        expect(securityContext?.capabilities?.add ?? []).not.toContain(name);
      expect([env, envFrom]).toEqual([undefined, undefined]);
    }
  });

  test("runs init first in both containers", () => {
    const { containers } = specOf({ image });
    expect(containers.map(({ name, command }) => [name, command])).toEqual(
      ["commands", "scripts"].map((kind) => [
        kind,
        ["/opt/outrider/bin/outrider-init", "pod", kind, "secret", "1000"],
      ]),
    );
    expect(containers.map((each) => each.image)).toEqual([image ?? "outrider-worker:1", "outrider-worker:1"]);
  });

  test("lets only scripts change bundles and programs", () => {
    const { containers } = specOf({ image, fillsHome: false, bundles: ["/opt/outrider/agent"] });
    const [commands, scripts] = ["commands", "scripts"].map((kind) => {
      const { volumeMounts = [] } = containers.find(({ name }) => name === kind) ?? {};
      return Object.fromEntries(volumeMounts.map(({ mountPath, readOnly = false }) => [mountPath, readOnly]));
    });
    expect(commands).toEqual({
      ...{ "/workspace": false, "/home/sandbox": false, "/opt/outrider/agent": true },
      ...(image ? { "/opt/outrider/bin": true } : {}),
    });
    expect(scripts).toEqual({
      ...{ "/workspace": false, "/home/sandbox": false, "/opt/outrider/agent": false },
      ...(image ? { "/.outrider/programs": false } : {}),
    });
  });
});

test("guarantees the limits that an environment asks for, and only a part of default limits", () => {
  const resourcesOf = (more: Partial<PodPlan>) => containersOf(more)[0]?.resources;
  expect(resourcesOf({})).toEqual({
    limits: { memory: "4096Mi", "ephemeral-storage": "1024Mi" },
    requests: { memory: "256Mi", cpu: "100m", "ephemeral-storage": "64Mi" },
  });
  const limits = { memory_mb: 512, cpus: 1.5, disk_mb: 100 };
  expect(resourcesOf({ limits, requested: limits })).toEqual({
    limits: { memory: "512Mi", cpu: "1500m", "ephemeral-storage": "100Mi" },
    requests: { memory: "512Mi", cpu: "1500m", "ephemeral-storage": "100Mi" },
  });
  expect(resourcesOf({ limits: { memory_mb: 100 } })?.requests).toMatchObject({ memory: "100Mi" });
  expect(specOf().volumes).toContainEqual({ name: "workspace", emptyDir: { sizeLimit: "1024Mi" } });
});

test("takes over what operators set, but not the labels by which Outrider finds pods", () => {
  const labels = { team: "agents", "outrider.dev/installation": "other" };
  const options = { labels, nodeSelector: { pool: "a" }, runtimeClassName: "gvisor", hostUsers: false };
  const { metadata, spec } = describePod({ ...plan, options });
  expect(metadata?.labels).toMatchObject({
    ...{ team: "agents", "outrider.dev/installation": "acme", "outrider.dev/worker": "worker-1" },
    ...{ "outrider.dev/sandbox": "run-1", "outrider.dev/run": "run-1" },
    ...{ "app.kubernetes.io/component": "sandbox", "app.kubernetes.io/managed-by": "outrider" },
  });
  expect(spec).toMatchObject({ nodeSelector: { pool: "a" }, runtimeClassName: "gvisor", hostUsers: false });
});

test("resolves the hosts of an environment", () => {
  expect(specOf({ hosts: "127.0.0.2 db db.test # comment\n\n127.0.0.3 cache\n" }).hostAliases).toEqual([
    { ip: "127.0.0.1", hostnames: ["sandbox"] },
    { ip: "127.0.0.2", hostnames: ["db", "db.test"] },
    { ip: "127.0.0.3", hostnames: ["cache"] },
  ]);
});

test("names pods and labels so that the cluster accepts them", () => {
  const sandbox = `Build_${"x".repeat(200)}`;
  const { name, labels, annotations } = sandboxMetadata(owner, { sandbox, label: { build_id: "b/1" } });
  expect(name).toMatch(/^outrider-[a-z0-9]([a-z0-9-]*[a-z0-9])?$/);
  expect(name?.length).toBeLessThanOrEqual(63);
  for (const value of Object.values(labels))
    expect(value).toMatch(/^[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$/);
  expect(annotations).toMatchObject({ "outrider.dev/sandbox-id": sandbox });
});

test("mounts the home where the user of the image has it, and fills it with the image's files", () => {
  const image = "registry.example.com/acme/app@sha256:1";
  const { initContainers = [], containers } = specOf({ image, home: "/root" });
  expect(containers.map(({ volumeMounts = [] }) => volumeMounts.find(({ name }) => name === "home"))).toEqual(
    [
      { name: "home", mountPath: "/root" },
      { name: "home", mountPath: "/home/sandbox" },
    ],
  );
  expect(initContainers.map(({ name, command }) => [name, command])).toEqual([
    ["install", expect.anything()],
    ["home", ["/opt/outrider/bin/system-changes", "fill", "/root", "/.outrider/home"]],
  ]);
  expect(initContainers[1]).toMatchObject({ image });
  for (const { terminationMessagePolicy } of initContainers)
    expect(terminationMessagePolicy).toBe("FallbackToLogsOnError");
});

test("starts no init container if the container for scripts can install the programs before commands start", () => {
  const image = "registry.example.com/acme/app@sha256:1";
  const withoutHome = specOf({ image, home: undefined });
  const mounts = withoutHome.containers.map(({ volumeMounts = [] }) => volumeMounts.map(({ name }) => name));
  expect(mounts).toEqual([
    ["workspace", "home", "programs"],
    ["workspace", "programs"],
  ]);
  for (const spec of [withoutHome, specOf({ image, fillsHome: false })]) {
    expect(spec.initContainers).toBe(undefined);
    expect(spec.containers.map(({ name, lifecycle }) => [name, lifecycle?.postStart?.exec?.command])).toEqual(
      [
        ["scripts", expect.arrayContaining(["/bin/cp", "/opt/outrider/bin/outrider-init"])],
        ["commands", undefined],
      ],
    );
  }
  expect(specOf().containers.map(({ lifecycle }) => lifecycle)).toEqual([undefined, undefined]);
  // The node reads the secret again when an init container has ended.
  const pullCredentials = { registry: "registry.example.com", username: "me", password: "pass-1234" };
  const withSecret = specOf({ image, fillsHome: false, pullCredentials });
  expect(withSecret.initContainers?.map(({ name }) => name)).toEqual(["install"]);
});

describe("a pod with the image of a build", () => {
  const buildImage = "registry.example.com/outrider/builds@sha256:2";

  test("has its system, and volumes with its files", () => {
    const image = "registry.example.com/acme/app@sha256:1";
    const { initContainers = [], containers } = specOf({
      image,
      buildImage,
      home: "/root",
      fillsHome: false,
    });
    expect(containers.map((each) => each.image)).toEqual([buildImage, "outrider-worker:1"]);
    expect(initContainers.map((each) => [each.name, each.image])).toEqual([
      ["install", "outrider-worker:1"],
      ["build", buildImage],
    ]);
    expect(initContainers[1]?.command?.slice(1)).toEqual([
      ...["fill", "/workspace", "/.outrider/workspace", "/root", "/.outrider/home"],
    ]);
    expect(JSON.stringify(specOf({ image, buildImage }))).not.toContain(image);
  });

  test("has the system of the worker if the environment has no image", () => {
    const { initContainers = [], containers } = specOf({ buildImage });
    expect(containers.map((each) => each.image)).toEqual(["outrider-worker:1", "outrider-worker:1"]);
    expect(initContainers.map(({ name }) => name)).toEqual(["install", "build"]);
    expect(containers[0]?.volumeMounts?.map(({ name }) => name)).toEqual(["workspace", "home"]);
  });

  test("does not need the credentials of the environment", () => {
    const pullCredentials = { registry: "docker.io", username: "me", password: "pass-1234" };
    const image = "docker.io/acme/app@sha256:1";
    expect(specOf({ image, buildImage, pullCredentials }).imagePullSecrets).toBe(undefined);
    expect(specOf({ image, pullCredentials }).imagePullSecrets).toHaveLength(1);
  });
});

test("names the secret of the operator and the one of the pod for pulls", () => {
  const pullCredentials = { registry: "docker.io", username: "me", password: "pass-1234" };
  const options = { imagePullSecrets: [{ name: "operator" }] };
  const pod = describePod({ ...plan, image: "docker.io/acme/app@sha256:1", options, pullCredentials });
  expect(pod.spec?.imagePullSecrets).toEqual([{ name: "operator" }, { name: plan.metadata.name }]);
  expect(JSON.stringify(pod)).not.toContain(pullCredentials.password);
  const created = { ...pod, metadata: { ...pod.metadata, uid: "uid-1" } };
  const secret = describePullSecret(created, pullCredentials);
  expect(secret.metadata).toMatchObject({
    name: plan.metadata.name,
    ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: plan.metadata.name, uid: "uid-1" }],
  });
  expect(JSON.parse(secret.stringData?.[".dockerconfigjson"] ?? "")).toEqual({
    auths: {
      "https://index.docker.io/v1/": { username: "me", password: "pass-1234", auth: "bWU6cGFzcy0xMjM0" },
    },
  });
  expect(describePod({ ...plan, options }).spec?.imagePullSecrets).toEqual([{ name: "operator" }]);
});
