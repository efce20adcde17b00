import type { Log } from "../../../log.ts";
import type { Cluster } from "./connect.ts";

/** Whether the API server responds. Without it, every run that the worker claims would fail. */
export class ClusterHealth {
  readonly #cluster: Cluster;
  readonly #log: Log;
  #isResponding = true;

  constructor({ cluster, log }: { cluster: Cluster; log: Log }) {
    this.#cluster = cluster;
    this.#log = log;
  }

  /** Asks the API server. Logs only changes. */
  async isResponding(): Promise<boolean> {
    const cluster = this.#cluster.address;
    try {
      await this.#cluster.ping();
      if (!this.#isResponding)
        this.#log.info({ cluster }, "Kubernetes API server responds again, accepting new runs");
      this.#isResponding = true;
    } catch (error) {
      if (this.#isResponding)
        this.#log.warn({ cluster, error }, "Kubernetes API server does not respond, not accepting new runs");
      this.#isResponding = false;
    }
    return this.#isResponding;
  }
}
