import { applyPatch } from "./apply-patch.ts";
import { ask } from "./ask.ts";
import { readOutput, stopCommand } from "./background-command.ts";
import { editFile } from "./edit-file.ts";
import { findFiles } from "./find-files.ts";
import { keepArtifact } from "./keep-artifact.ts";
import { readFile } from "./read-file.ts";
import { runCommand } from "./run-command.ts";
import { searchFiles } from "./search-files.ts";
import type { Tool } from "./tool.ts";
import { updatePlan } from "./update-plan.ts";
import { writeFile } from "./write-file.ts";

/** All built-in tools. A model gets those of its family; see instructions/family.ts. */
export const builtinTools: readonly Tool[] = [
  runCommand,
  readOutput,
  stopCommand,
  readFile,
  writeFile,
  editFile,
  applyPatch,
  findFiles,
  searchFiles,
  updatePlan,
  keepArtifact,
  ask,
];
