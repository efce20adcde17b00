import type { AssignedEnvironment } from "@outrider/contract/worker/environment";
import type { Log } from "../log.ts";
import type { OpenOptions } from "../sandboxes/sandbox.ts";
import { createDial, type Dial } from "./dial.ts";
import type { Exceptions } from "./exceptions.ts";
import type { SandboxCertificates } from "./extra-ca.ts";
import { createFairLookup } from "./fair-lookup.ts";
import { Presets, type ResolvedAllowlist } from "./presets/presets.ts";
import { serveEgress } from "./proxy.ts";
import { type EgressRefusal, RefusalReporter } from "./refusal-reporter.ts";
import { type SandboxNetworkFiles, withImage } from "./sandbox-files.ts";
import { hostsLines, listTcpForwards } from "./tcp-forwards.ts";
import type { UpstreamProxy } from "./upstream-proxy.ts";

const CONNECT_MS = 10_000;

/** The code of notices about refused connections. */
export const REFUSED = "network_refused";
/** The code of notices about what presets stand for. */
const PRESETS = "network_presets";

export interface Notice {
  code: string;
  message: string;
}

/** The network of an environment, and the git host that `preset:git` stands for. */
export type SessionNetwork = AssignedEnvironment["network"] &
  Pick<AssignedEnvironment, "git_host"> & {
    /** The content of the image's /etc/os-release, if the sandbox has an image. */
    osRelease?: string | undefined;
  };

/** One sandbox's outbound network access. */
export interface EgressSession {
  /** Options to pass to the sandbox provider's `open`. Empty if the environment has no network. */
  option: Pick<OpenOptions, "network" | "forwards" | "hosts">;
  readonly inside: SandboxNetworkFiles;
  /** The hosts of the environment's presets, for the receipt. */
  readonly presets: ResolvedAllowlist["presets"];
  /**
   * Called once for each host that is refused. The next turn of a warm sandbox replaces this callback, which then
   * receives all refusals again.
   */
  onRefused: (notice: Notice) => void;
  close(): Promise<void>;
}

export interface EgressSessions {
  /** `onNotice` also receives what the presets stand for. */
  open(network: SessionNetwork, onNotice: (notice: Notice) => void): Promise<EgressSession>;
  /** Returns a function that connects the worker itself to what a sandbox with this network could reach. */
  openDial(network: SessionNetwork, options: { onRefused(notice: Notice): void; signal: AbortSignal }): Dial;
}

/**
 * Creates egress sessions. A sandbox can reach the hosts that its environment's policy allows and the private addresses
 * that the worker's operator allows.
 */
export function createEgressSessions({
  exceptions,
  upstream,
  certificates,
  presets = new Presets({ environment: {} }),
  log,
}: {
  exceptions: Exceptions;
  /** The company's proxy. */
  upstream?: UpstreamProxy | undefined;
  /** Every sandbox gets these, also one without a network. */
  certificates?: Omit<SandboxCertificates, "bundleFile"> | undefined;
  /** Default: presets allow nothing. */
  presets?: Presets;
  log: Log;
}): EgressSessions {
  const resolve = ({ allow = [], git_host }: SessionNetwork) =>
    presets.resolveAllowlist(allow, { gitHost: git_host, exceptions });
  return {
    async open(network, onNotice) {
      const { mode } = network;
      const resolved = await resolve(network);
      const { allow, homeFiles, distribution } = resolved;
      const forHost: SandboxNetworkFiles = {
        environment: { ...certificates?.environment, ...resolved.environment },
        files: { ...certificates?.files, ...resolved.files },
        imageFiles: certificates?.imageFiles ?? {},
        ...{ homeFiles, ...(distribution ? { distribution } : {}) },
        // Hosts of presets are reached through the proxy.
        forwards: listTcpForwards({ mode, allow: network.allow ?? [] }),
      };
      const inside = network.osRelease === undefined ? forHost : withImage(forHost, network.osRelease);
      for (const message of presetNotices(resolved)) onNotice({ code: PRESETS, message });
      let report = onNotice;
      if (mode === "none") {
        const close = async () => {};
        return { option: {}, inside, presets: [], onRefused: onNotice, close };
      }
      const proxy = serveEgress({
        policy: { mode, allow },
        exceptions: resolved.exceptions,
        upstream,
        log,
        onRefused: (refusal) => report(toNotice(refusal)),
      });
      return {
        get onRefused() {
          return report;
        },
        set onRefused(callback) {
          report = callback;
          proxy.forgetRefusals();
        },
        inside,
        presets: resolved.presets,
        option: {
          network: proxy.accept,
          forwards: inside.forwards.map((forward) => ({
            ...{ address: forward.address, port: forward.port },
            accept: (client) => void proxy.relay(client, forward),
          })),
          hosts: hostsLines(inside.forwards),
        },
        close: () => proxy.close(),
      };
    },
    openDial(network, { onRefused, signal }) {
      const reporter = new RefusalReporter({ log, onRefused: (refusal) => onRefused(toNotice(refusal)) });
      const lookup = createFairLookup();
      let dial: Promise<Dial> | undefined;
      const open = async () => {
        const { allow, exceptions } = await resolve(network);
        const policy = { mode: network.mode, allow };
        return createDial({ policy, exceptions, lookup, upstream, timeoutMs: CONNECT_MS, signal });
      };
      return async (target) => {
        dial ??= open();
        try {
          return await (await dial)(target);
        } catch (error) {
          reporter.report(target, error);
          throw error;
        }
      };
    },
  };
}

function toNotice({ host, port, reason, remedy }: EgressRefusal): Notice {
  return { code: REFUSED, message: `${host}:${port} was refused: ${reason}. ${remedy}.` };
}

function presetNotices({ presets, notices }: ResolvedAllowlist): string[] {
  const allowed = presets
    .filter(({ hosts }) => hosts.length > 0)
    .map(({ preset, hosts }) => `${preset} allows ${hosts.join(", ")}.`);
  return [...(allowed.length > 0 ? [allowed.join(" ")] : []), ...notices];
}
