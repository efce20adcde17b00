import { ask } from "./ask.ts";
import { readFile } from "./read.ts";
import { runCommand } from "./run.ts";
import type { Tool } from "./tool.ts";
import { writeFile } from "./write.ts";

export const builtinTools: readonly Tool[] = [runCommand, writeFile, readFile, ask];
