import { NotEnforceableError } from "./limits.ts";
import { RemovalRetry } from "./removal-retry.ts";
import type { Sandbox } from "./sandbox.ts";

interface OwnSandbox extends Sandbox {
  killAndRelease(): Promise<void>;
}

interface OpenSandboxesOptions {
  /** Called for each sandbox that could not be opened. */
  onOpenFailed?: (() => void) | undefined;
  /** Removes what is left of sandboxes that could not be opened. Rejects if something remains. */
  removeFailed(ids: ReadonlySet<string>): Promise<void>;
}

/**
 * The sandboxes of a provider that are open or being opened. Each has an id of its own. What cannot be removed, because the
 * engine or the cluster does not respond, is removed later.
 */
export class OpenSandboxes<Own extends OwnSandbox> {
  readonly #open = new Map<string, Own>();
  /** The ids of sandboxes that are being opened. */
  readonly #opening = new Set<string>();
  /** The ids of open sandboxes that could not be removed when they were closed. */
  readonly #unremoved = new Set<string>();
  /** The ids of sandboxes that could not be opened. */
  readonly #failed = new Set<string>();
  readonly #removalRetry = new RemovalRetry(() => this.#removeLeft());
  readonly #options: OpenSandboxesOptions;

  constructor(options: OpenSandboxesOptions) {
    this.#options = options;
  }

  count(): number {
    return this.#open.size;
  }

  /** The ids of all, also of those that are being opened. */
  ids(): ReadonlySet<string> {
    return new Set([...this.#open.keys(), ...this.#opening]);
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
      this.#failed.add(id);
      this.#removalRetry.schedule();
      // What cannot be enforced is a problem with the request, not with this worker.
      if (!(error instanceof NotEnforceableError)) this.#options.onOpenFailed?.();
      throw error;
    } finally {
      this.#opening.delete(id);
    }
  }

  /** Called when a sandbox is closed. */
  remove(id: string): void {
    this.#open.delete(id);
    this.#unremoved.delete(id);
  }

  /** Called when a sandbox could not be removed. It is closed again later. */
  removeLater(id: string): void {
    this.#unremoved.add(id);
    this.#removalRetry.schedule();
  }

  async #removeLeft(): Promise<void> {
    await Promise.all([...this.#unremoved].map((id) => this.#open.get(id)?.close()));
    const open = this.ids();
    const failed = new Set([...this.#failed].filter((id) => !open.has(id)));
    if (failed.size > 0) await this.#options.removeFailed(failed);
    for (const id of failed) this.#failed.delete(id);
    if (this.#unremoved.size + this.#failed.size > 0)
      throw new Error("Other sandboxes have failed meanwhile.");
  }

  /** Returns the provider's own object for an open sandbox. */
  own(sandbox: Sandbox): Own {
    const own = this.#open.get(sandbox.id);
    if (own === sandbox) return own;
    throw new Error(`The sandbox ${sandbox.id} is not open in this provider.`);
  }

  /** Ends all processes, and leaves the files to the next worker. */
  async stop(): Promise<void> {
    this.#removalRetry.stop();
    await Promise.all([...this.#open.values()].map((sandbox) => sandbox.killAndRelease()));
  }
}
