import { Command } from "commander";
import { expect, test } from "vitest";
import {
  addSandboxOptions,
  readDockerSettings,
  readKubernetesSettings,
  sandboxVariables,
} from "../src/sandbox-options.ts";

function parse(args: string[]) {
  return addSandboxOptions(new Command("worker")).parse(args, { from: "user" }).opts();
}

test("options take precedence over variables, and OUTRIDER_DOCKER_HOST over DOCKER_HOST", () => {
  const variables = { DOCKER_HOST: "unix:///run/other.sock", OUTRIDER_DOCKER_RUNTIME: "runc" };
  expect(readDockerSettings({}, variables)).toMatchObject({
    engine: { host: "unix:///run/other.sock" },
    runtime: "runc",
  });
  const both = { ...variables, OUTRIDER_DOCKER_HOST: "unix:///run/own.sock" };
  expect(readDockerSettings({}, both).engine.host).toBe("unix:///run/own.sock");
  const flags = parse(["--docker-host", "tcp://engine:2376", "--docker-runtime", "runsc"]);
  const tls = { DOCKER_TLS_VERIFY: "1", DOCKER_CERT_PATH: "/etc/docker-certificates" };
  expect(readDockerSettings(flags, { ...both, ...tls })).toEqual({
    engine: {
      host: "tcp://engine:2376",
      certPath: "/etc/docker-certificates",
      tlsVerify: true,
      runtimeFolder: undefined,
    },
    runtime: "runsc",
    systemImage: undefined,
    builder: undefined,
  });
  expect(readDockerSettings(parse(["--docker-builder", "buildkit"]), {})).toMatchObject({
    builder: "buildkit",
  });
  expect(() => readDockerSettings({}, { OUTRIDER_DOCKER_BUILDER: "kaniko" })).toThrow(
    '--docker-builder (OUTRIDER_DOCKER_BUILDER) must be sandbox or buildkit, not "kaniko".',
  );
});

test("empty variables are as if they were not set", () => {
  const empty = { OUTRIDER_DOCKER_HOST: "", DOCKER_HOST: "", OUTRIDER_DOCKER_SYSTEM_IMAGE: "" };
  expect(readDockerSettings({}, empty)).toMatchObject({
    engine: { host: undefined, certPath: undefined, tlsVerify: false },
    systemImage: undefined,
  });
});

test("the options of `serve` reach its workers as variables", () => {
  const flags = parse(["--sandbox", "docker", "--docker-system-image", "tools:1"]);
  expect(sandboxVariables(flags)).toEqual({
    OUTRIDER_SANDBOX: "docker",
    OUTRIDER_DOCKER_SYSTEM_IMAGE: "tools:1",
  });
});

test("a cluster is described by options, by variables, or by the KUBECONFIG of kubectl", () => {
  const flags = parse(["--kubernetes-pod", "/etc/pod.yaml", "--kubernetes-namespace", "sandboxes"]);
  const variables = {
    KUBECONFIG: "/home/me/config",
    OUTRIDER_KUBERNETES_NAMESPACE: "others",
    OUTRIDER_KUBERNETES_SYSTEM_IMAGE: "worker:1",
    OUTRIDER_KUBERNETES_CONTEXT: "",
  };
  expect(readKubernetesSettings(flags, variables)).toEqual({
    namespace: "sandboxes",
    systemImage: "worker:1",
    podFile: "/etc/pod.yaml",
    kubeconfig: "/home/me/config",
    context: undefined,
    registry: undefined,
  });
  const own = { ...variables, OUTRIDER_KUBERNETES_KUBECONFIG: "/etc/cluster.yaml" };
  expect(readKubernetesSettings({}, own)).toMatchObject({
    namespace: "others",
    kubeconfig: "/etc/cluster.yaml",
  });
  const builds = {
    OUTRIDER_KUBERNETES_REGISTRY: "registry.example.com/other",
    OUTRIDER_KUBERNETES_REGISTRY_CREDENTIALS: "me:secret",
  };
  const registry = parse(["--kubernetes-registry", "registry.example.com/builds"]);
  expect(readKubernetesSettings(registry, builds)).toMatchObject({
    registry: { name: "registry.example.com/builds", credentials: "me:secret" },
  });
  const all = ["system-image", "namespace", "pod", "kubeconfig", "context", "registry"].flatMap((name) => [
    `--kubernetes-${name}`,
    name,
  ]);
  expect(sandboxVariables(parse(all))).toEqual({
    OUTRIDER_KUBERNETES_SYSTEM_IMAGE: "system-image",
    OUTRIDER_KUBERNETES_NAMESPACE: "namespace",
    OUTRIDER_KUBERNETES_POD: "pod",
    OUTRIDER_KUBERNETES_KUBECONFIG: "kubeconfig",
    OUTRIDER_KUBERNETES_CONTEXT: "context",
    OUTRIDER_KUBERNETES_REGISTRY: "registry",
  });
});
