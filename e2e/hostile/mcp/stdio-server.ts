import { once } from "node:events";
import { createInterface } from "node:readline";
import { answerTo } from "./answer-to.ts";

/** An MCP server over stdio that executes the attack that its argument names. */

const [, , attackName = ""] = process.argv;

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method } = JSON.parse(line);
  const answer = answerTo(attackName, method);
  for (const part of answer?.(id) ?? []) await write(part);
  if (answer) await write("\n");
}

async function write(text: string) {
  if (!process.stdout.write(text)) await once(process.stdout, "drain");
}
