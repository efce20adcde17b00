import type { EngineOptions } from "./docker/engine/connect.ts";

/** What can execute Dockerfiles: sandboxes, or the engine's BuildKit, which obeys neither limits nor network policies. */
export const dockerBuilders = ["sandbox", "buildkit"] as const;
export type DockerBuilder = (typeof dockerBuilders)[number];

/** How to reach the Docker or Podman engine that runs sandboxes, and what to tell it. */
export interface DockerSettings {
  engine: EngineOptions;
  /** A runtime that the engine knows, such as `runsc`. Default: that of the engine. */
  runtime?: string | undefined;
  /** The image for sandboxes without an image, and for the worker's scripts. Default: made from this machine's programs. */
  systemImage?: string | undefined;
  /** Default: `sandbox`. */
  builder?: DockerBuilder | undefined;
}
