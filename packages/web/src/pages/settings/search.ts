export const sectionNames = [
  "you",
  "users",
  "models",
  "harnesses",
  "forges",
  "limits",
  "operations",
] as const;
export type SectionName = (typeof sectionNames)[number];

export interface SettingsSearch {
  section?: SectionName | undefined;
}

/** Reads the settings section from the URL. The account section is the default. */
export function readSettingsSearch({ section }: Record<string, unknown>): SettingsSearch {
  const known = sectionNames.find((name) => name === section);
  return known && known !== "you" ? { section: known } : {};
}
