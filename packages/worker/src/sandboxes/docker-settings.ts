import type { EngineOptions } from "./docker/engine/connect.ts";

/** How to reach the Docker or Podman engine that runs sandboxes, and what to tell it. */
export interface DockerSettings {
  engine: EngineOptions;
  /** A runtime that the engine knows, such as `runsc`. Default: that of the engine. */
  runtime?: string | undefined;
  /** The image for sandboxes without an image, and for the worker's scripts. Default: made from this machine's programs. */
  systemImage?: string | undefined;
}
