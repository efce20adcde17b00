import { resolve } from "node:path";
import type { DockerSettings } from "@outrider/worker/sandboxes/docker-settings";
import type { Command } from "commander";

/** The options of commands that start workers. All of them have variables, which `outrider serve` passes to its workers. */
export interface SandboxFlags {
  sandbox?: string;
  dockerHost?: string;
  dockerRuntime?: string;
  dockerSystemImage?: string;
}

export function addSandboxOptions(command: Command): Command {
  return command
    .option(
      "--sandbox <kind>",
      "where runs execute: local, docker (containers of Docker or Podman), or auto: local, or docker where local cannot work (OUTRIDER_SANDBOX, default auto)",
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
    );
}

const variables = {
  sandbox: "OUTRIDER_SANDBOX",
  dockerHost: "OUTRIDER_DOCKER_HOST",
  dockerRuntime: "OUTRIDER_DOCKER_RUNTIME",
  dockerSystemImage: "OUTRIDER_DOCKER_SYSTEM_IMAGE",
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
  };
}
