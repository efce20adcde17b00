import { NotEnforceableError } from "./limits.ts";
import type { Sandbox } from "./sandbox.ts";

interface OwnSandbox extends Sandbox {
  killAndRelease(): Promise<void>;
}

/** The sandboxes of a provider that are open or being opened. Each has an id of its own. */
export class OpenSandboxes<Own extends OwnSandbox> {
  readonly #open = new Map<string, Own>();
  /** The ids of sandboxes that are being opened. */
  readonly #opening = new Set<string>();
  readonly #onOpenFailed: () => void;

  /** `onOpenFailed`: called for each sandbox that could not be opened. */
  constructor(onOpenFailed: () => void = () => {}) {
    this.#onOpenFailed = onOpenFailed;
  }

  count(): number {
    return this.#open.size;
  }

  /** The ids of all, also of those that are being opened. */
  ids(): ReadonlySet<string> {
    return new Set([...this.#open.keys(), ...this.#opening]);
  }

  find(id: string): Own | undefined {
    return this.#open.get(id);
  }

  /** Adds what `create` returns. */
  async open(id: string, create: () => Promise<Own>): Promise<Own> {
    if (this.#open.has(id) || this.#opening.has(id)) throw new Error(`The sandbox ${id} exists already.`);
    this.#opening.add(id);
    try {
      const sandbox = await create();
      this.#open.set(id, sandbox);
      return sandbox;
    } catch (error) {
      // What cannot be enforced is a problem with the request, not with this worker.
      if (!(error instanceof NotEnforceableError)) this.#onOpenFailed();
      throw error;
    } finally {
      this.#opening.delete(id);
    }
  }

  /** Called when a sandbox is closed. */
  remove(id: string): void {
    this.#open.delete(id);
  }

  /** Returns the provider's own object for an open sandbox. */
  own(sandbox: Sandbox): Own {
    const own = this.#open.get(sandbox.id);
    if (own === sandbox) return own;
    throw new Error(`The sandbox ${sandbox.id} is not open in this provider.`);
  }

  /** Ends all processes, and leaves the files to the next worker. */
  async stop(): Promise<void> {
    await Promise.all([...this.#open.values()].map((sandbox) => sandbox.killAndRelease()));
  }
}
