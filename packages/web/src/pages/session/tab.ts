export const tabs = ["transcript", "changes", "timeline", "artifacts", "usage", "receipt", "raw"] as const;
export type Tab = (typeof tabs)[number];

export const tabWords: Record<Tab, string> = {
  transcript: "Transcript",
  changes: "Changes",
  timeline: "Timeline",
  artifacts: "Artifacts",
  usage: "Usage",
  receipt: "Receipt",
  raw: "Raw",
};

/** Which tab an address asks for. The first one needs no word, and an unknown word means it too. */
export function tabOf(search: Record<string, unknown>): { tab?: Tab } {
  const tab = tabs.find((one) => one === search.tab);
  return tab && tab !== "transcript" ? { tab } : {};
}
