export const sectionNames = ["you", "people", "models", "limits", "operations"] as const;
export type SectionName = (typeof sectionNames)[number];

export interface SettingsSearch {
  section?: SectionName | undefined;
}

/** Each section has an address of its own; you come first. */
export function readSettingsSearch({ section }: Record<string, unknown>): SettingsSearch {
  const known = sectionNames.find((name) => name === section);
  return known && known !== "you" ? { section: known } : {};
}
