const example = `---
name: release-notes
description: Writes release notes from commits.
---
Read the commits since the last tag, and …`;

/** Explains how to add a skill if there are none. */
export function SkillsHelp() {
  return (
    <div className="flex flex-col gap-3 text-left">
      <p>
        A skill is a folder with a file <code>SKILL.md</code> in a repository, for example{" "}
        <code>skills/release-notes/SKILL.md</code>:
      </p>
      <pre className="whitespace-pre-wrap break-words rounded-lg border border-line bg-code p-3 text-xs text-ink">
        {example}
      </pre>
      <p>Push it, then build an environment that includes the repository. Its skills appear here.</p>
    </div>
  );
}
