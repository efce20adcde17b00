import type { Server } from "node:net";
import type { AssignedEnvironment } from "@outrider/contract/worker";
import type { Log } from "../log.ts";
import { createDial, type Dial } from "./dial.ts";
import type { Exceptions } from "./exceptions.ts";
import { createFairLookup } from "./fair-lookup.ts";
import { type Egress, serveEgress } from "./proxy.ts";
import { type EgressRefusal, RefusalReporter } from "./refusal-reporter.ts";

const CONNECT_MS = 10_000;

/** The code of notices about refused connections. */
export const REFUSED = "network_refused";

export interface Notice {
  code: string;
  message: string;
}

/** One sandbox's outbound network access. */
export interface EgressSession {
  /** Options to pass to the sandbox provider's `open`. Empty if the environment has no network. */
  option: { network?: (listener: Server) => void };
  /**
   * Called once for each host that is refused. The next turn of a warm sandbox replaces this callback, which then
   * receives all refusals again.
   */
  onRefused: (notice: Notice) => void;
  close(): Promise<void>;
}

export interface EgressSessions {
  open(network: AssignedEnvironment["network"], onRefused: (notice: Notice) => void): EgressSession;
  /** Returns a function that connects the worker itself to what a sandbox with this network could reach. */
  openDial(
    network: AssignedEnvironment["network"],
    options: { onRefused(notice: Notice): void; signal: AbortSignal },
  ): Dial;
}

/**
 * Creates egress sessions. A sandbox can reach the hosts that its environment's policy allows and the private addresses
 * that the worker's operator allows.
 */
export function createEgressSessions({
  exceptions,
  log,
}: {
  exceptions: Exceptions;
  log: Log;
}): EgressSessions {
  return {
    open({ mode, allow = [] }, onRefused) {
      if (mode === "none") return { option: {}, onRefused, close: async () => {} };
      let proxy: Egress | undefined;
      let report = onRefused;
      return {
        get onRefused() {
          return report;
        },
        set onRefused(callback) {
          report = callback;
          proxy?.forgetRefusals();
        },
        option: {
          network(listener) {
            proxy = serveEgress({
              listener,
              policy: { mode, allow },
              exceptions,
              log,
              onRefused: (refusal) => report(toNotice(refusal)),
            });
          },
        },
        close: async () => proxy?.close(),
      };
    },
    openDial({ mode, allow = [] }, { onRefused, signal }) {
      const reporter = new RefusalReporter({ log, onRefused: (refusal) => onRefused(toNotice(refusal)) });
      const lookup = createFairLookup();
      const policy = { mode, allow };
      const dial = createDial({ policy, exceptions, lookup, timeoutMs: CONNECT_MS, signal });
      return (target) =>
        dial(target).catch((error: unknown) => {
          reporter.report(target, error);
          throw error;
        });
    },
  };
}

function toNotice({ host, port, reason, remedy }: EgressRefusal): Notice {
  return { code: REFUSED, message: `${host}:${port} was refused: ${reason}. ${remedy}.` };
}
