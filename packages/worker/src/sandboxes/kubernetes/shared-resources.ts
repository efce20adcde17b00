import type { V1OwnerReference } from "@kubernetes/client-node";
import type { Log } from "../../log.ts";
import type { Capabilities, Capability } from "../limits.ts";
import type { Owner } from "../owner.ts";
import type { SandboxEngine } from "../sandbox.ts";
import type { KubernetesBases } from "./bases/kubernetes-bases.ts";
import type { BuildImages } from "./build-images/build-images.ts";
import type { Cluster } from "./cluster/connect.ts";
import type { KubernetesImages } from "./images/kubernetes-images.ts";
import type { PodOptions } from "./pods/pod-options.ts";
import type { StartLimits } from "./pods/sandbox-pod.ts";

/** What all of a worker's sandboxes in a cluster share. */
export interface SharedResources {
  cluster: Cluster;
  owner: Owner;
  /** The worker's own pod, with which the cluster removes those of its sandboxes. */
  ownerReference: V1OwnerReference | undefined;
  systemImage: string;
  podOptions: PodOptions;
  /** The URL of the Outrider server, if it is known. */
  server: string | undefined;
  startLimits: StartLimits;
  capabilities: Capabilities;
  /** Whether pods have user ids of their own. */
  ids: Capability;
  engine: SandboxEngine;
  bases: KubernetesBases;
  images: KubernetesImages;
  /** Undefined without a registry for builds. */
  buildImages: BuildImages | undefined;
  log: Log;
}
