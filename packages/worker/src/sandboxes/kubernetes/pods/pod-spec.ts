/** What the pod of a sandbox consists of, and what its containers are allowed to do. */
import type { V1Container, V1ObjectMeta, V1Pod, V1VolumeMount } from "@kubernetes/client-node";
import { initPath, programNames, programsPath, systemChangesPath } from "../../files/programs.ts";
import type { Limits } from "../../limits.ts";
import { sandboxPaths } from "../../paths.ts";
import type { ProcessKind } from "../../systems/command-system.ts";
import type { PullCredentials } from "../images/pull-secret.ts";
import type { PodOptions } from "./pod-options.ts";

/** What init itself needs, with and without an image: it changes users and kills what they run. */
const initCapabilities = ["CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "SETGID", "SETPCAP", "SETUID"];
/**
 * What root of an image has in addition, as in containers of an engine, without the capability to send raw packets. Commands
 * lack SYS_CHROOT, by which the kernel tells them from init.
 */
const imageCapabilities = ["SETFCAP", "NET_BIND_SERVICE", "AUDIT_WRITE", "SYS_CHROOT"];

/** What a sandbox is guaranteed, if its environment asks for no limits. */
const defaultRequests = { cpu: "100m", memory: "256Mi" };
/** What the worker's scripts may use. */
const scriptLimits = { memory: "1Gi" };
const scriptRequests = { cpu: "10m", memory: "32Mi" };

const programsVolume = "programs";
/** Where init containers see the volumes that they fill. */
const installPath = "/.outrider/programs";
const homePath = "/.outrider/home";
const workspacePath = "/.outrider/workspace";

export interface PodPlan {
  metadata: V1ObjectMeta;
  systemImage: string;
  /** The environment's image, with its digest. */
  image: string | undefined;
  /**
   * The image of the build, with its digest. It has all files of the build, and those of the environment's image if there is
   * one. Without it, the worker sends the files.
   */
  buildImage?: string | undefined;
  /** With these, the node pulls the environment's image. They become a secret with the name of the pod. */
  pullCredentials?: PullCredentials | undefined;
  /** The path of the home of commands, which is a volume. Without it, their home is not stored. */
  home: string | undefined;
  /** Whether the node fills the home with the files that the image has there. */
  fillsHome: boolean;
  limits: Limits;
  /** The limits that the environment asks for, which are also guaranteed. */
  requested: Limits;
  /** The arguments of init in a container. */
  initArguments(kind: ProcessKind): string[];
  /** The paths of folders that get a volume, which only scripts can change. */
  bundles: string[];
  /** Lines to add to /etc/hosts. */
  hosts: string | undefined;
  /** After this time, the cluster ends the pod. */
  maxSeconds: number;
  options: PodOptions;
}

export function describePod(plan: PodPlan): V1Pod {
  const { metadata, systemImage, image, buildImage, limits, options } = plan;
  const { labels, annotations, imagePullSecrets = [], ...podOptions } = options;
  const pullSecrets = [
    ...imagePullSecrets,
    ...(needsPullSecret(plan) ? [{ name: metadata.name ?? "" }] : []),
  ];
  const disk = limits.disk_mb === undefined ? undefined : `${limits.disk_mb}Mi`;
  const emptyDir = disk === undefined ? {} : { sizeLimit: disk };
  /** Scripts see the home always at the same path. */
  const mounts = (home: string | undefined): V1VolumeMount[] => [
    { name: "workspace", mountPath: sandboxPaths.workspace },
    ...(home === undefined ? [] : [{ name: "home", mountPath: home }]),
  ];
  const prepared = image || buildImage ? initContainers(plan) : [];
  const installsPrograms = image !== undefined && prepared.length === 0;
  const programs = image ? [{ name: programsVolume, mountPath: programsPath, readOnly: true }] : [];
  const bundles = plan.bundles.map((mountPath, index) => ({ name: `bundle-${index}`, mountPath }));
  const container = (kind: ProcessKind): V1Container => ({
    name: kind,
    image: kind === "commands" && image ? (buildImage ?? image) : systemImage,
    imagePullPolicy: "IfNotPresent",
    command: [initPath, ...plan.initArguments(kind)],
    workingDir: "/",
    volumeMounts: [
      ...mounts(kind === "commands" ? plan.home : sandboxPaths.home),
      ...bundles.map((mount) => ({ ...mount, readOnly: kind === "commands" })),
      ...(kind === "commands" ? programs : installsPrograms ? [installMount] : []),
    ],
    ...(kind === "scripts" && installsPrograms ? { lifecycle: { postStart: { exec: install } } } : {}),
    resources:
      kind === "commands" ? commandResources(plan) : { limits: scriptLimits, requests: scriptRequests },
    securityContext: {
      ...restrictions,
      capabilities: {
        drop: ["ALL"],
        add: kind === "commands" && image ? [...initCapabilities, ...imageCapabilities] : initCapabilities,
      },
    },
  });
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      ...metadata,
      labels: { ...labels, ...metadata.labels },
      annotations: { ...annotations, ...metadata.annotations },
    },
    spec: {
      ...podOptions,
      ...(pullSecrets.length > 0 ? { imagePullSecrets: pullSecrets } : {}),
      // A container that ran out of memory starts again, unless it has ended by itself.
      restartPolicy: "OnFailure",
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      shareProcessNamespace: false,
      hostname: "sandbox",
      // Names are resolved by the egress proxy of the worker.
      dnsPolicy: "None",
      dnsConfig: { nameservers: ["127.0.0.1"] },
      hostAliases: [{ ip: "127.0.0.1", hostnames: ["sandbox"] }, ...hostAliases(plan.hosts)],
      terminationGracePeriodSeconds: 0,
      activeDeadlineSeconds: plan.maxSeconds,
      securityContext: { seccompProfile: { type: "RuntimeDefault" } },
      ...(prepared.length > 0 ? { initContainers: prepared } : {}),
      // A node starts containers in this order, and the next one after the hook of the one before has ended.
      containers: installsPrograms
        ? [container("scripts"), container("commands")]
        : [container("commands"), container("scripts")],
      volumes: [
        { name: "workspace", emptyDir },
        { name: "home", emptyDir },
        ...(image || buildImage ? [{ name: programsVolume, emptyDir: {} }] : []),
        ...bundles.map(({ name }) => ({ name, emptyDir: {} })),
      ],
    },
  };
}

/** The user is root, because init gives files to the users of commands and starts processes for them. */
const restrictions = {
  runAsUser: 0,
  runAsGroup: 0,
  privileged: false,
  allowPrivilegeEscalation: false,
};

/** Without the image of the build, the pod needs that of the environment. */
export function needsPullSecret({ pullCredentials, buildImage }: PodPlan): boolean {
  return pullCredentials !== undefined && buildImage === undefined;
}

/**
 * Each of them delays the pod by a second or more, so there are none if the container for scripts can install the programs.
 * The node reads the pull secret, which the worker creates after the pod, again when an init container has ended.
 */
function initContainers(plan: PodPlan): V1Container[] {
  const { systemImage, image, buildImage, home, fillsHome } = plan;
  const installed = installContainer(systemImage);
  const ofHome = home === undefined ? [] : [{ name: "home", from: home, to: homePath }];
  const ofWorkspace = { name: "workspace", from: sandboxPaths.workspace, to: workspacePath };
  if (buildImage !== undefined)
    return [installed, fillContainer("build", buildImage, [ofWorkspace, ...ofHome])];
  if (image !== undefined && ofHome.length > 0 && fillsHome)
    return [installed, fillContainer("home", image, ofHome)];
  return needsPullSecret(plan) ? [installed] : [];
}

const initContainer = {
  resources: { limits: { memory: "256Mi" }, requests: scriptRequests },
  // If it fails, the status of the pod has the end of its output.
  terminationMessagePolicy: "FallbackToLogsOnError",
};

/** Copies folders of an image to the volumes that hide them. The program does what commands could do themselves. */
function fillContainer(
  name: string,
  image: string,
  volumes: { name: string; from: string; to: string }[],
): V1Container {
  return {
    ...{ name, image, imagePullPolicy: "IfNotPresent" },
    command: [systemChangesPath, "fill", ...volumes.flatMap(({ from, to }) => [from, to])],
    workingDir: "/",
    volumeMounts: [
      { name: programsVolume, mountPath: programsPath, readOnly: true },
      ...volumes.map((volume) => ({ name: volume.name, mountPath: volume.to })),
    ],
    ...initContainer,
    securityContext: {
      ...restrictions,
      capabilities: { drop: ["ALL"], add: ["CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "SETFCAP"] },
    },
  };
}

/**
 * Copies the programs to where the container with the environment's image finds them. The folder also has programs of the
 * worker itself. Those that exist are in use.
 */
const install = {
  command: [
    ...["/bin/cp", "--update"],
    ...[...programNames, "rg"].map((name) => `${programsPath}/${name}`),
    installPath,
  ],
};
const installMount: V1VolumeMount = { name: programsVolume, mountPath: installPath };

function installContainer(systemImage: string): V1Container {
  return {
    name: "install",
    image: systemImage,
    imagePullPolicy: "IfNotPresent",
    command: install.command,
    volumeMounts: [installMount],
    ...initContainer,
    securityContext: { ...restrictions, capabilities: { drop: ["ALL"] } },
  };
}

/** A limit that the environment asks for is guaranteed. The cluster would also guarantee default limits otherwise. */
function commandResources({ limits, requested }: PodPlan): NonNullable<V1Container["resources"]> {
  const memory = limits.memory_mb === undefined ? {} : { memory: `${limits.memory_mb}Mi` };
  const cpu = limits.cpus === undefined ? {} : { cpu: `${Math.round(limits.cpus * 1000)}m` };
  const disk = limits.disk_mb === undefined ? {} : { "ephemeral-storage": `${limits.disk_mb}Mi` };
  return {
    limits: { ...memory, ...cpu, ...disk },
    requests: {
      ...defaultRequests,
      ...(requested.memory_mb === undefined ? atMost(limits.memory_mb) : memory),
      ...cpu,
      ...(requested.disk_mb === undefined && limits.disk_mb !== undefined
        ? { "ephemeral-storage": "64Mi" }
        : disk),
    },
  };
}

const atMost = (memoryMb = 256) => ({ memory: `${Math.min(memoryMb, 256)}Mi` });

function hostAliases(lines = ""): { ip: string; hostnames: string[] }[] {
  return lines.split("\n").flatMap((line) => {
    const [ip = "", ...hostnames] = line.replace(/#.*/, "").trim().split(/\s+/);
    return hostnames.length === 0 ? [] : [{ ip, hostnames }];
  });
}
