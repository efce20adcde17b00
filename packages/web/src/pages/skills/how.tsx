const example = `---
name: release-notes
description: Writes the notes of a release from its commits.
---
Read the commits since the last tag, and …`;

/** For the reader who has none yet: what to write, where to put it, and what happens then. */
export function HowSkillsComeAbout() {
  return (
    <div className="flex flex-col gap-3 text-left">
      <p>
        A skill is a folder with a file <code>SKILL.md</code> in a repository, for example{" "}
        <code>skills/release-notes/SKILL.md</code>:
      </p>
      <pre className="whitespace-pre-wrap break-words rounded-lg border border-line bg-code p-3 text-xs text-ink">
        {example}
      </pre>
      <p>
        Push it, and build an environment that has the repository: its skills then stand here, each with a
        button that starts a run with it.
      </p>
    </div>
  );
}
