import type { Duplex } from "node:stream";
import type { Bundle, Forward, GitPush } from "../sandboxes/sandbox.ts";

/** What a harness needs in the run's sandbox. It must be known before the sandbox opens. */
export interface SandboxAdditions {
  /** The agent's programs. */
  bundles: Bundle[];
  /** Receives each connection of a program in the sandbox to the gateway. */
  onConnection: (connection: Duplex) => void;
}

/** What `git push` needs in the run's sandbox. It must be known before the sandbox opens. */
export interface PushAdditions {
  pushes: GitPush[];
  /** Receives each connection of a program in the sandbox to the git endpoint. */
  onConnection: (connection: Duplex) => void;
}

/** The port of the gateway on the localhost of a sandbox. */
export const gatewayPort = 3129;
/** The port of the git endpoint, to which `git push` connects. */
export const gitPort = 3130;

/**
 * A listener in a sandbox, such as the one for the gateway. It exists as long as the sandbox, so the next execution in a
 * warm sandbox replaces the receiver of the connections.
 */
export class GatewayForward implements Forward {
  readonly address = "127.0.0.1";
  readonly port: number;
  onConnection: ((connection: Duplex) => void) | undefined;

  constructor(port: number, onConnection: (connection: Duplex) => void) {
    this.port = port;
    this.onConnection = onConnection;
  }

  readonly accept = (connection: Duplex): void => {
    if (this.onConnection) this.onConnection(connection);
    else connection.destroy();
  };
}
