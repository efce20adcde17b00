import type { Execution } from "./run/execute.ts";

/** The executions, builds, shells and isolated runs that occupy this worker's slots. */
export class ActiveWork {
  readonly #slots: number;
  readonly #executions = new Map<string, { execution: Execution; done: Promise<void> }>();
  readonly #others = new Set<Promise<void>>();
  #slotFreed = Promise.withResolvers<void>();

  constructor({ slots, stopping }: { slots: number; stopping: AbortSignal }) {
    this.#slots = slots;
    stopping.addEventListener("abort", () => this.#slotFreed.resolve(), { once: true });
  }

  get usedSlots(): number {
    return this.#executions.size + this.#others.size;
  }

  get freeSlots(): number {
    return this.#slots - this.usedSlots;
  }

  /** Resolves when a slot is released or the worker stops. */
  get freed(): Promise<void> {
    return this.#slotFreed.promise;
  }

  /** Returns the executions that are running now. */
  listExecutions(): Execution[] {
    return [...this.#executions.values()].map(({ execution }) => execution);
  }

  findExecution(executionId: string): Execution | undefined {
    return this.#executions.get(executionId)?.execution;
  }

  /** Occupies a slot until `work` settles. */
  addExecution(execution: Execution, work: Promise<void>) {
    const { execution_id } = execution.assignment;
    const done = work.finally(() => {
      this.#executions.delete(execution_id);
      this.#releaseSlot();
    });
    this.#executions.set(execution_id, { execution, done });
  }

  /** Occupies a slot until `work` settles: a build, a shell, or a run that another process executes. */
  occupySlot(work: Promise<void>) {
    const done = work.finally(() => {
      this.#others.delete(done);
      this.#releaseSlot();
    });
    this.#others.add(done);
  }

  /** Resolves when all work that is currently running has ended. */
  async finished(): Promise<void> {
    await Promise.all([...[...this.#executions.values()].map(({ done }) => done), ...this.#others]);
  }

  #releaseSlot() {
    this.#slotFreed.resolve();
    this.#slotFreed = Promise.withResolvers();
  }
}
