import type { ProcessSandboxOptions } from "../process-sandbox.ts";
import type { Label, SandboxImage } from "../sandbox.ts";
import type { SandboxContainers } from "./containers/sandbox-containers.ts";
import type { SandboxFiles } from "./sandbox-files.ts";
import type { SharedResources } from "./shared-resources.ts";
import type { SandboxVolumes } from "./volumes/sandbox-volumes.ts";

export interface DockerSandboxOptions
  extends Pick<
    ProcessSandboxOptions,
    | "id"
    | "base"
    | "workingFolder"
    | "enforced"
    | "system"
    | "createProcesses"
    | "releaseResources"
    | "onClosed"
    | "onCloseFailed"
  > {
  label: Label;
  labels: Record<string, string>;
  image: SandboxImage | undefined;
  containers: SandboxContainers;
  volumes: SandboxVolumes;
  files: SandboxFiles;
  shared: SharedResources;
}
