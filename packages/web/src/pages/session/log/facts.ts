import type { PlanUpdatedEvent, RunEvent, RunUsage } from "@outrider/sdk";

const MOST_POINTS = 500;

export interface UsagePoint {
  at: string;
  usage: RunUsage;
}

export interface FileFact {
  path: string;
  /** What became of it over the whole run so far. */
  kind: "created" | "modified" | "deleted";
  /** The last event that changed it. */
  seq: number;
}

/** What the other parts of the page want to know of a log: little, and gathered while it passes by. */
export class Facts {
  milestones: readonly RunEvent[] = [];
  plan: PlanUpdatedEvent | undefined;
  usage: readonly UsagePoint[] = [];
  /** The words that are being said and do not stand in the log yet. */
  speaking = "";
  readonly #files = new Map<string, FileFact>();
  #fileList: readonly FileFact[] | undefined = [];

  get files(): readonly FileFact[] {
    this.#fileList ??= [...this.#files.values()];
    return this.#fileList;
  }

  add(event: RunEvent) {
    if (event.type.startsWith("run.") || event.type === "environment.step") {
      this.milestones = [...this.milestones, event];
      this.speaking = "";
    }
    if (event.type === "message.agent") this.speaking = "";
    if (event.type === "plan.updated") this.plan = event;
    if (event.type === "usage.updated") this.#spend(event.created_at, event.data);
    if (event.type === "file.changed") {
      const { path, kind } = event.data;
      const before = this.#files.get(path);
      const isNew = before?.kind === "created" && kind === "modified";
      this.#files.set(path, { path, kind: isNew ? "created" : kind, seq: event.seq });
      this.#fileList = undefined;
    }
  }

  #spend(at: string, usage: RunUsage) {
    const points = [...this.usage, { at, usage }];
    // Every other point is enough for a line of the same shape.
    this.usage =
      points.length <= MOST_POINTS
        ? points
        : points.filter((_, index) => index % 2 === 0 || index === points.length - 1);
  }
}
