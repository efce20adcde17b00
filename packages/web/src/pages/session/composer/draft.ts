import { storedSetting } from "../../../frame/stored-setting.ts";

/** Returns the run's unsent message, which survives a reload. */
export function readDraft(runId: string): string {
  return storedSetting(`draft.${runId}`).read() ?? "";
}

export function storeDraft(runId: string, text: string) {
  storedSetting(`draft.${runId}`).write(text || undefined);
}

export function deleteDraft(runId: string) {
  storeDraft(runId, "");
}
