import type Docker from "dockerode";
import type { Log } from "../../log.ts";
import type { Capabilities, Capability, Limits } from "../limits.ts";
import type { Owner } from "../owner.ts";
import type { Bundle } from "../sandbox.ts";
import type { DockerBases } from "./bases/docker-bases.ts";
import type { Engine } from "./engine/connect.ts";
import type { EngineDescription } from "./engine/describe.ts";
import type { SeccompOption } from "./seccomp-option.ts";
import type { BundleVolumes } from "./volumes/bundle-volumes.ts";

/** The resources that all of a worker's sandboxes in an engine share. */
export interface SharedResources {
  engine: Engine;
  docker: Docker;
  owner: Owner;
  log: Log;
  capabilities: Capabilities;
  /** For environments that set none. */
  defaultLimits: Limits;
  /** Whether user ids of images are not those of the engine's machine. */
  ids: Capability;
  seccomp: SeccompOption;
  /** The runtime of containers. Default: the engine's. */
  runtime: string | undefined;
  /** The id of the image for sandboxes without an image, and for the worker's scripts. */
  systemImage: string;
  description: EngineDescription;
  /** The programs that every sandbox has. */
  programs: Bundle;
  bases: DockerBases;
  bundleVolumes: BundleVolumes;
  /** Whether volumes can be overlays, so that sandboxes share the files of a base. */
  canOverlay: boolean;
  /** The homes of users of images, by image and user. */
  imageHomes: Map<string, string>;
}
