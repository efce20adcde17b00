import type { Server } from "node:net";
import type { EnvironmentWork } from "@outrider/contract/worker";
import type { Exceptions } from "./egress/exceptions.ts";
import { type Egress, serveEgress } from "./egress/proxy.ts";
import type { Log } from "./sandboxes/sandbox.ts";

export interface Notice {
  code: string;
  message: string;
}

/** The way out of one sandbox. */
export interface Way {
  /** For `open` of a sandbox: nothing where there is no network. */
  option: { network?: (listener: Server) => void };
  /** Who hears of what is refused. A sandbox that is kept finds another listener in the next turn. */
  refused: (notice: Notice) => void;
  close(): Promise<void>;
}

export interface Networks {
  open(network: EnvironmentWork["network"], refused: (notice: Notice) => void): Way;
}

/** What sandboxes may reach: their environment's policy, and what this worker's operator allows of the inner network. */
export function openNetworks({ exceptions, log }: { exceptions: Exceptions; log: Log }): Networks {
  return {
    open({ mode, allow = [] }, refused) {
      if (mode === "none") return { option: {}, refused, close: async () => {} };
      let egress: Egress | undefined;
      const way: Way = {
        refused,
        option: {
          network(listener) {
            egress = serveEgress({
              listener,
              policy: { mode, allow },
              exceptions,
              log,
              refused: ({ host, port, reason }) =>
                way.refused({ code: "network_refused", message: `${host}:${port} was refused: ${reason}` }),
            });
          },
        },
        close: async () => egress?.close(),
      };
      return way;
    },
  };
}
