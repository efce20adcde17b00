/**
 * The table of harnesses and behaviors in the docs. The tests of each harness check its row, and write it with
 * OUTRIDER_WRITE_DOCS=1.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../process.ts";

const path = join(root, "docs", "harnesses-table.md");

const INTRODUCTION = `# What each harness does in a run

The tests generate this table. Each agent, as it is on npm, executes these behaviors in a real sandbox, and calls its model
through the gateway. [Harnesses](harnesses.md) explains how to use them.
`;

export function rowOf(agent: string, cells: string[]): string {
  return `| ${[agent, ...cells].join(" | ")} |`;
}

/** Returns the row of an agent, whatever its version is, or undefined. */
export function readRow(title: string): string | undefined {
  return rowsOf(read()).find((row) => row.startsWith(`| ${title} `));
}

export function writeRow(title: string, { row, columns }: { row: string; columns: string[] }) {
  const others = rowsOf(read()).filter((other) => !other.startsWith(`| ${title} `));
  const rows = [...others, row].sort();
  const header = [rowOf("Harness", columns), `|${"---|".repeat(columns.length + 1)}`];
  writeFileSync(path, `${INTRODUCTION}\n${[...header, ...rows].join("\n")}\n`);
}

function rowsOf(text: string): string[] {
  return text.split("\n").filter((line) => line.startsWith("| ") && !line.startsWith("| Harness "));
}

function read(): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
