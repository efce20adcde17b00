import { ASK } from "../../src/tools/ask.ts";
import { RUN_COMMAND } from "../../src/tools/run-command.ts";
import { WRITE_FILE } from "../../src/tools/write-file.ts";
import type { ParsedTool } from "./dialect.ts";

const purposes = {
  RUN: {
    name: RUN_COMMAND,
    looks: /^(bash|shell|exec.*|run_.*command|terminal)$/i,
    members: [/^(command|cmd)$/],
  },
  WRITE: { name: WRITE_FILE, looks: /write/i, members: [/path|file/i, /^(text|content|contents)$/] },
  ASK: { name: ASK, looks: /^ask/i, members: [/question/] },
};

/** The tool of the request that serves a purpose, with its arguments under the names that its schema gives them. */
export function toolNamed(purpose: keyof typeof purposes, values: string[], tools: ParsedTool[]) {
  const { name, looks, members } = purposes[purpose];
  const found = tools.find((tool) => tool.name === name) ?? tools.find((tool) => looks.test(tool.name));
  const schema =
    (found?.input as { properties?: Record<string, { type?: string }> } | undefined)?.properties ?? {};
  const fallback = { RUN: ["command"], WRITE: ["path", "text"], ASK: ["question"] }[purpose];
  const entries = values.map((value, index) => {
    const member =
      Object.keys(schema).find((key) => members[index]?.test(key)) ?? (fallback[index] as string);
    return [member, schema[member]?.type === "array" ? ["bash", "-lc", value] : value];
  });
  return { tool: found?.name ?? name, input: Object.fromEntries(entries) as object };
}
