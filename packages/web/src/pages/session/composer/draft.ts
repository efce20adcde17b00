import { setting } from "../../../shell/setting.ts";

/** What was typed for a run and not sent yet. It outlives a reload. */
export function readDraft(runId: string): string {
  return setting(`draft.${runId}`).read() ?? "";
}

export function keepDraft(runId: string, text: string) {
  setting(`draft.${runId}`).write(text || undefined);
}

export function dropDraft(runId: string) {
  keepDraft(runId, "");
}
