import { type ProviderApi, providerApis } from "../providers.ts";

/**
 * What a provider's API allows: a behavior is supported, possibly in a form of its own, or the API has no such thing.
 * `docs/models.md` contains this table, and conformance.test.ts checks each cell.
 */
export type Cell = { supported: string } | { unsupported: string };

export const behaviors = [
  "reasoning is sent back",
  "reasoning survives another worker",
  "reasoning that contained a secret",
  "reasoning of another model",
  "`reasoning_effort`",
  "`<think>` tags become reasoning",
  "empty response",
  "answer cut at the output limit",
  "tool call cut at the output limit",
  "tool call that cannot be parsed",
  "usage of an interrupted call",
] as const;
export type Behavior = (typeof behaviors)[number];

export const columns = ["Anthropic", "OpenAI Responses", "OpenAI Chat", "Gemini", "Compatible"] as const;
export type Column = (typeof columns)[number];

const yes = (supported: string): Cell => ({ supported });
const no = (unsupported: string): Cell => ({ unsupported });

function all(cell: Cell, others: Partial<Record<Column, Cell>> = {}): Record<Column, Cell> {
  return Object.fromEntries(columns.map((column) => [column, others[column] ?? cell])) as Record<
    Column,
    Cell
  >;
}

const noReasoning = no("the API returns none");

export const table: Record<Behavior, Record<Column, Cell>> = {
  "reasoning is sent back": {
    Anthropic: yes("signed thinking blocks"),
    "OpenAI Responses": yes("encrypted items"),
    "OpenAI Chat": noReasoning,
    Gemini: yes("thought signatures"),
    Compatible: yes("`reasoning_content` of tool calls"),
  },
  "reasoning survives another worker": all(yes("yes"), { "OpenAI Chat": noReasoning }),
  "reasoning that contained a secret": all(yes("omitted"), {
    Anthropic: yes("omitted; thinking pauses for a call"),
    "OpenAI Chat": noReasoning,
    Compatible: yes("sent with the mask"),
  }),
  "reasoning of another model": all(yes("omitted"), { "OpenAI Chat": noReasoning }),
  "`reasoning_effort`": {
    Anthropic: yes("`thinking`, `effort`"),
    "OpenAI Responses": yes("`reasoning.effort`"),
    "OpenAI Chat": yes("`reasoning_effort`"),
    Gemini: yes("`thinkingConfig`"),
    Compatible: yes("`reasoning_effort`"),
  },
  "`<think>` tags become reasoning": all(no("not used"), { Compatible: yes("yes") }),
  "empty response": all(yes("asked once more")),
  "answer cut at the output limit": all(yes("continued")),
  "tool call cut at the output limit": all(yes("asked for smaller pieces")),
  "tool call that cannot be parsed": all(yes("error result"), { Gemini: yes("asked to repeat it") }),
  "usage of an interrupted call": all(yes("estimated"), { Anthropic: yes("as reported") }),
};

/** The table as it appears in the documentation. */
export function renderTable(): string {
  const row = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  const text = (cell: Cell) => ("supported" in cell ? cell.supported : `– (${cell.unsupported})`);
  const capitalized = (name: string) => name.charAt(0).toUpperCase() + name.slice(1);
  return [
    row(["Behavior", ...columns]),
    `|${"---|".repeat(columns.length + 1)}`,
    ...behaviors.map((name) =>
      row([capitalized(name), ...columns.map((column) => text(table[name][column]))]),
    ),
  ].join("\n");
}

/** The API of each column. */
export const apis = Object.fromEntries(
  columns.map((column, index) => [column, providerApis[index] as ProviderApi]),
) as Record<Column, ProviderApi>;
