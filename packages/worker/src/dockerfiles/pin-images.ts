import { parseReference } from "../images/reference.ts";
import type { Stage } from "./parse.ts";
import type { ResolvedDockerfile } from "./read.ts";
import { directive, type RawInstruction, splitInstructions } from "./split-instructions.ts";

/**
 * Returns the text of a Dockerfile whose images are named with their digests, as they were resolved. Lines keep their
 * numbers. `# syntax=` is left out, because it names an image that would interpret the file. Returns undefined if the name
 * of an image is not found in the text.
 */
export function pinImages({
  file,
  text,
  images,
}: Pick<ResolvedDockerfile, "file" | "text" | "images">): string | undefined {
  const lines = withoutSyntax(text.split(/\r?\n/));
  const { instructions } = splitInstructions(text);
  const pinned = (reference: string) => {
    const { registry, repository } = parseReference(reference);
    return `${registry}/${repository}@${images.get(reference)?.digest}`;
  };
  for (const stage of file.stages) {
    const [from, ...rest] = instructionsOf(stage, instructions);
    if (!from) return undefined;
    if ("image" in stage.base) {
      const name = stage.name === undefined ? "" : ` AS ${stage.name}`;
      const blank = Array<string>(from.lastLine - from.line).fill("");
      lines.splice(from.line - 1, blank.length + 1, `FROM ${pinned(stage.base.image)}${name}`, ...blank);
    }
    for (const [name, source] of stage.sources) {
      if (!("image" in source)) continue;
      let found = false;
      for (const { line, lastLine } of rest) {
        for (let at = line - 1; at < lastLine; at++) {
          const old = lines[at] as string;
          const replaced = old.replaceAll(/(?<=\bfrom=)[^\s,]+/g, (text) =>
            text === name ? pinned(source.image) : text,
          );
          found ||= replaced !== old;
          lines[at] = replaced;
        }
      }
      if (!found) return undefined;
    }
  }
  return lines.join("\n");
}

/** Returns the FROM of a stage and what follows it. */
function instructionsOf({ line }: Stage, all: RawInstruction[]): RawInstruction[] {
  const first = all.findIndex((each) => each.line === line);
  const next = all.findIndex((each, index) => index > first && each.name === "FROM");
  return first < 0 ? [] : all.slice(first, next < 0 ? undefined : next);
}

/** An ordinary comment takes the place of the line, after the directives, because it would end them. */
function withoutSyntax(lines: string[]): string[] {
  const first = lines.findIndex((line) => !directive.test(line.replace(/^\uFEFF/, "")));
  const directives = first < 0 ? lines : lines.slice(0, first);
  const kept = directives.filter((line) => directive.exec(line)?.[1]?.toLowerCase() !== "syntax");
  return [...kept, ...directives.slice(kept.length).map(() => "#"), ...lines.slice(directives.length)];
}
