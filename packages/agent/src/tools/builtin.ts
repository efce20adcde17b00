import { ask } from "./ask.ts";
import { readOutput, stopCommand } from "./background.ts";
import { editFile } from "./edit.ts";
import { findFiles } from "./find.ts";
import { keepArtifact } from "./keep.ts";
import { updatePlan } from "./plan.ts";
import { readFile } from "./read.ts";
import { runCommand } from "./run.ts";
import { searchFiles } from "./search.ts";
import type { Tool } from "./tool.ts";
import { writeFile } from "./write.ts";

export const builtinTools: readonly Tool[] = [
  runCommand,
  readOutput,
  stopCommand,
  readFile,
  writeFile,
  editFile,
  findFiles,
  searchFiles,
  updatePlan,
  keepArtifact,
  ask,
];
