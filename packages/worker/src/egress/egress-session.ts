import type { Server } from "node:net";
import type { AssignedEnvironment } from "@outrider/contract/worker";
import type { Log } from "../log.ts";
import type { Exceptions } from "./exceptions.ts";
import { type Egress, serveEgress } from "./proxy.ts";

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
              onRefused: ({ host, port, reason, remedy }) =>
                report({ code: REFUSED, message: `${host}:${port} was refused: ${reason}. ${remedy}.` }),
            });
          },
        },
        close: async () => proxy?.close(),
      };
    },
  };
}
