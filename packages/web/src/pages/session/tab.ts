export const tabs = [
  "transcript",
  "changes",
  "files",
  "timeline",
  "artifacts",
  "usage",
  "receipt",
  "raw",
] as const;
export type Tab = (typeof tabs)[number];

export const tabLabels: Record<Tab, string> = {
  transcript: "Transcript",
  changes: "Changes",
  files: "Files",
  timeline: "Timeline",
  artifacts: "Artifacts",
  usage: "Usage",
  receipt: "Receipt",
  raw: "Raw",
};

/** Reads the tab from the URL. The transcript is the default. */
export function tabOf(search: Record<string, unknown>): { tab?: Tab } {
  const tab = tabs.find((one) => one === search.tab);
  return tab && tab !== "transcript" ? { tab } : {};
}
