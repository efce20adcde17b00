import type { Outrider } from "@outrider/sdk";
import type { EvalTask } from "./task.ts";

/** The environments of an evaluation: one per task, created when first needed and deleted at the end. */
export class EvalEnvironments implements AsyncDisposable {
  readonly #client: Outrider;
  readonly #evalId: string;
  readonly #ids = new Map<string, Promise<string>>();

  constructor(client: Outrider, evalId: string) {
    this.#client = client;
    this.#evalId = evalId;
  }

  idFor({ name, environment }: EvalTask): Promise<string> {
    const known = this.#ids.get(name);
    if (known) return known;
    const created = this.#client.environments
      .create({ ...environment, name: `eval ${this.#evalId} ${name}`.slice(0, 100) })
      .then(({ environment_id }) => environment_id);
    this.#ids.set(name, created);
    return created;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const created of this.#ids.values()) {
      const id = await created.catch(() => undefined);
      // A run that is still being cancelled does not prevent this. A leftover environment is harmless.
      if (id) await this.#client.environments.delete(id).catch(() => {});
    }
  }
}
