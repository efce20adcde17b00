import { resolve } from "node:path";
import {
  type DockerBuilder,
  type DockerSettings,
  dockerBuilders,
} from "@outrider/worker/sandboxes/docker-settings";
import type { KubernetesSettings } from "@outrider/worker/sandboxes/kubernetes-settings";
import type { Command } from "commander";
import { UsageError } from "./exit-codes.ts";

/** The options of commands that start workers. All of them have variables, which `outrider serve` passes to its workers. */
export interface SandboxFlags {
  sandbox?: string;
  dockerHost?: string;
  dockerRuntime?: string;
  dockerSystemImage?: string;
  dockerBuilder?: string;
  kubernetesNamespace?: string;
  kubernetesSystemImage?: string;
  kubernetesPod?: string;
  kubernetesKubeconfig?: string;
  kubernetesContext?: string;
  kubernetesRegistry?: string;
}

export function addSandboxOptions(command: Command): Command {
  return command
    .option(
      "--sandbox <kind>",
      "where runs execute: local, docker (containers of Docker or Podman), kubernetes (pods of a cluster), or auto: local, or docker where local cannot work (OUTRIDER_SANDBOX, default auto)",
    )
    .option(
      "--docker-host <address>",
      "engine for containers, such as unix:///run/user/1000/podman/podman.sock or tcp://host:2376; default: DOCKER_HOST, or the usual sockets (OUTRIDER_DOCKER_HOST)",
    )
    .option(
      "--docker-runtime <name>",
      "runtime of containers, which the engine must know, such as runsc; default: that of the engine (OUTRIDER_DOCKER_RUNTIME)",
    )
    .option(
      "--docker-system-image <image>",
      "image with bash, git, tar and gzip, for sandboxes without an image; default: made from this machine's programs (OUTRIDER_DOCKER_SYSTEM_IMAGE)",
    )
    .option(
      "--docker-builder <name>",
      "what executes Dockerfiles: sandbox, or buildkit, the engine's own builder, which keeps the results of instructions but obeys neither limits nor allowlists (OUTRIDER_DOCKER_BUILDER, default sandbox)",
    )
    .option(
      "--kubernetes-system-image <image>",
      "image of the worker, which nodes pull for each pod; required for kubernetes (OUTRIDER_KUBERNETES_SYSTEM_IMAGE)",
    )
    .option(
      "--kubernetes-namespace <name>",
      "namespace of the pods; default: that of the worker's own pod, of the context, or default (OUTRIDER_KUBERNETES_NAMESPACE)",
    )
    .option(
      "--kubernetes-pod <file>",
      "YAML or JSON file with settings of all pods, such as runtimeClassName, nodeSelector and tolerations (OUTRIDER_KUBERNETES_POD)",
    )
    .option(
      "--kubernetes-kubeconfig <file>",
      "how to reach the cluster; default: KUBECONFIG, the service account of the worker's own pod, or ~/.kube/config (OUTRIDER_KUBERNETES_KUBECONFIG)",
    )
    .option(
      "--kubernetes-context <name>",
      "context of the kubeconfig file; default: its current one (OUTRIDER_KUBERNETES_CONTEXT)",
    )
    .option(
      "--kubernetes-registry <repository>",
      "where builds become images that nodes pull, such as registry.example.com/outrider/builds; credentials in OUTRIDER_KUBERNETES_REGISTRY_CREDENTIALS; default: each pod receives its build from the worker (OUTRIDER_KUBERNETES_REGISTRY)",
    );
}

const variables = {
  sandbox: "OUTRIDER_SANDBOX",
  dockerHost: "OUTRIDER_DOCKER_HOST",
  dockerRuntime: "OUTRIDER_DOCKER_RUNTIME",
  dockerSystemImage: "OUTRIDER_DOCKER_SYSTEM_IMAGE",
  dockerBuilder: "OUTRIDER_DOCKER_BUILDER",
  kubernetesNamespace: "OUTRIDER_KUBERNETES_NAMESPACE",
  kubernetesSystemImage: "OUTRIDER_KUBERNETES_SYSTEM_IMAGE",
  kubernetesPod: "OUTRIDER_KUBERNETES_POD",
  kubernetesKubeconfig: "OUTRIDER_KUBERNETES_KUBECONFIG",
  kubernetesContext: "OUTRIDER_KUBERNETES_CONTEXT",
  kubernetesRegistry: "OUTRIDER_KUBERNETES_REGISTRY",
} as const;

/** Returns the variables that pass these options on to another process. */
export function sandboxVariables(flags: SandboxFlags): Record<string, string> {
  const names = Object.keys(variables) as (keyof SandboxFlags)[];
  return Object.fromEntries(
    names.flatMap((name) => (flags[name] === undefined ? [] : [[variables[name], flags[name]]])),
  );
}

/** Returns how the worker reaches an engine. Options take precedence over variables. */
export function readDockerSettings(flags: SandboxFlags, environment: NodeJS.ProcessEnv): DockerSettings {
  const values = { ...environment, ...sandboxVariables(flags) };
  return {
    engine: {
      host: values.OUTRIDER_DOCKER_HOST || values.DOCKER_HOST || undefined,
      certPath: values.DOCKER_CERT_PATH ? resolve(values.DOCKER_CERT_PATH) : undefined,
      tlsVerify: Boolean(values.DOCKER_TLS_VERIFY),
      runtimeFolder: values.XDG_RUNTIME_DIR || undefined,
    },
    runtime: values.OUTRIDER_DOCKER_RUNTIME || undefined,
    systemImage: values.OUTRIDER_DOCKER_SYSTEM_IMAGE || undefined,
    builder: readBuilder(values.OUTRIDER_DOCKER_BUILDER),
  };
}

function readBuilder(text: string | undefined): DockerBuilder | undefined {
  const name = text || undefined;
  const builder = dockerBuilders.find((each) => each === name);
  if (name !== undefined && !builder)
    throw new UsageError(
      `--docker-builder (OUTRIDER_DOCKER_BUILDER) must be ${dockerBuilders.join(" or ")}, not "${name}".`,
    );
  return builder;
}

/** Returns how the worker reaches a cluster. Options take precedence over variables. */
export function readKubernetesSettings(
  flags: SandboxFlags,
  environment: NodeJS.ProcessEnv,
): KubernetesSettings {
  const values = { ...environment, ...sandboxVariables(flags) };
  const podFile = values.OUTRIDER_KUBERNETES_POD;
  const registry = values.OUTRIDER_KUBERNETES_REGISTRY;
  // Other users of the machine can see arguments, so there is no option for credentials.
  const credentials = environment.OUTRIDER_KUBERNETES_REGISTRY_CREDENTIALS || undefined;
  return {
    namespace: values.OUTRIDER_KUBERNETES_NAMESPACE || undefined,
    systemImage: values.OUTRIDER_KUBERNETES_SYSTEM_IMAGE || undefined,
    podFile: podFile ? resolve(podFile) : undefined,
    kubeconfig: values.OUTRIDER_KUBERNETES_KUBECONFIG || values.KUBECONFIG || undefined,
    context: values.OUTRIDER_KUBERNETES_CONTEXT || undefined,
    registry: registry ? { name: registry, credentials } : undefined,
  };
}
