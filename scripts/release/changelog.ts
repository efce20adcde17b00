/** Returns the text of a version's section in CHANGELOG.md, without its heading. */
export function readSection(changelog: string, version: string): string {
  const sections = changelog.split(/^## /m).slice(1);
  const section = sections.find((text) => text.split(/\s/, 1)[0] === version);
  const text = section?.slice(section.indexOf("\n")).trim();
  if (!text)
    throw new Error(`CHANGELOG.md has no section "## ${version}". Write one before you make the release.`);
  return `${text}\n`;
}
