/**
 * Reads a devcontainer.json. The file is untrusted: its size, depth and all values are bounded. It is validated
 * leniently, because most of its properties are for editors. Properties that would change the container in a way that
 * sandboxes do not support are refused by name, and those whose absence can be noticed produce a notice.
 */
import { Failure } from "@outrider/agent/failure";
import { BuildDevcontainer } from "@outrider/contract/devcontainer";
import type { DockerfileSource } from "@outrider/contract/dockerfile";
import { ImageReference } from "@outrider/contract/image";
import { createScanner, type ParseError, parse, printParseErrorCode } from "jsonc-parser";
import { z } from "zod";
import { buildFields, readBuild } from "./build.ts";
import { LifecycleCommand, shellCommand } from "./commands.ts";
import { substitute } from "./substitute.ts";

export const MAX_FILE_BYTES = 256 * 1024;
const MAX_DEPTH = 32;
const MAX_COMMAND_CHARACTERS = 32_768;
const MAX_SHOWN_CHARACTERS = 200;

export interface Devcontainer {
  /** Undefined if the file names a Dockerfile. */
  image: string | undefined;
  dockerfile?: DockerfileSource;
  /** Run as the user, before the environment's own setup commands. */
  setupCommands: string[];
  /** What the build's runs need. */
  forRuns: BuildDevcontainer;
  /** What the file asks for in vain. */
  notices: string[];
}

interface ParseOptions {
  path: string;
  blobId: string;
  /** The folder of the repository in the sandbox. */
  workspaceFolder: string;
}

const name = z.string({ error: "must be a string" });
const values = z.record(z.string(), z.string().nullable(), {
  error: "must be an object whose values are strings",
});

const File = z.looseObject({
  image: name.optional(),
  ...buildFields,
  containerEnv: values.optional(),
  remoteEnv: values.optional(),
  remoteUser: name.optional(),
  containerUser: name.optional(),
  onCreateCommand: LifecycleCommand.nullish(),
  updateContentCommand: LifecycleCommand.nullish(),
  postCreateCommand: LifecycleCommand.nullish(),
  postStartCommand: LifecycleCommand.nullish(),
});
type File = z.infer<typeof File>;

const setupFields = ["onCreateCommand", "updateContentCommand", "postCreateCommand"] as const;

const refusedFields: Record<string, string> = {
  dockerComposeFile:
    "is not supported: name an image in `image` or a Dockerfile in `build`, and start services in `postStartCommand` or `start_commands`.",
  mounts: "is not supported: sandboxes have no access to files of the host.",
  runArgs: "is not supported: sandboxes do not run in Docker.",
  privileged: "is not supported: sandboxes are never privileged.",
};

const ignoredFields: Record<string, string> = {
  initializeCommand: "it would run on the host",
  capAdd: "sandboxes have a fixed set of capabilities",
  securityOpt: "sandboxes have a fixed security profile",
  workspaceMount: "repositories are always below /workspace",
};

/** Rejects with a Failure that names the file and the property. */
export function parseDevcontainer(text: string, options: ParseOptions): Devcontainer {
  const { path } = options;
  try {
    return readFile(readObject(text.replace(/^\uFEFF/, "")), options);
  } catch (error) {
    throw new Failure("environment_setup_failed", `${path}: ${(error as Error).message}`);
  }
}

function readObject(text: string): Record<string, unknown> {
  if (Buffer.byteLength(text) > MAX_FILE_BYTES) throw new Error("The file is larger than 256 KiB.");
  requireShallow(text);
  const errors: ParseError[] = [];
  const value: unknown = parse(text, errors, { allowTrailingComma: true });
  const [error] = errors;
  if (error) {
    const line = text.slice(0, error.offset).split("\n").length;
    throw new Error(
      `The file is not valid JSON with comments: ${printParseErrorCode(error.error)} in line ${line}.`,
    );
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new Error("The file must contain a JSON object.");
  return value as Record<string, unknown>;
}

/** The parser is recursive, so the depth is checked first. */
function requireShallow(text: string): void {
  const scanner = createScanner(text, true);
  let depth = 0;
  for (scanner.scan(); scanner.getTokenLength() > 0; scanner.scan()) {
    // The first character identifies the token: strings start with a quote.
    const start = text[scanner.getTokenOffset()];
    if (start === "{" || start === "[") depth += 1;
    if (start === "}" || start === "]") depth -= 1;
    if (depth > MAX_DEPTH) throw new Error(`The file is nested more than ${MAX_DEPTH} levels deep.`);
  }
}

function readFile(object: Record<string, unknown>, options: ParseOptions): Devcontainer {
  refuseUnsupported(object);
  const { data: file, error } = File.safeParse(object);
  if (!file) throw new Error(describeIssue(error.issues[0]));
  const notices = listIgnored(object, options.workspaceFolder);
  const { path, blobId: blob_id } = options;
  const user = file.remoteUser ?? file.containerUser;
  const [start] = readCommands(file, ["postStartCommand"], { ...options, notices });
  const forRuns = BuildDevcontainer.safeParse({
    ...{ path, blob_id },
    ...(user ? { user } : {}),
    container_env: readVariables(file, "containerEnv", { ...options, notices }),
    remote_env: readVariables(file, "remoteEnv", { ...options, notices }),
    start_commands: start === undefined ? [] : [start],
  });
  if (forRuns.error) {
    const [issue] = forRuns.error.issues;
    const [field, ...rest] = issue?.path ?? [];
    throw new Error(
      describeIssue({ path: [sourceFields[String(field)] ?? "", ...rest], message: issue?.message }),
    );
  }
  const dockerfile = readBuild(file, { ...options, notices });
  return {
    ...(dockerfile ? { image: undefined, dockerfile } : { image: readImage(file, options) }),
    setupCommands: readCommands(file, setupFields, { ...options, notices }),
    forRuns: forRuns.data,
    notices: [...new Set(notices)].map((notice) => `${path}: ${notice}`),
  };
}

const sourceFields: Record<string, string> = {
  user: "remoteUser",
  container_env: "containerEnv",
  remote_env: "remoteEnv",
  start_commands: "postStartCommand",
};

function describeIssue(issue: { path: PropertyKey[]; message?: string | undefined } | undefined): string {
  const field = issue?.path.map(String).join(".").slice(0, MAX_SHOWN_CHARACTERS);
  return `\`${field}\` ${issue?.message ?? "is invalid"}.`;
}

const isSet = (value: unknown) =>
  typeof value === "object" && value !== null ? Object.keys(value).length > 0 : Boolean(value);

function refuseUnsupported(object: Record<string, unknown>): void {
  const { features } = object;
  if (isSet(features)) {
    const [first] =
      typeof features === "object" && features !== null ? Object.keys(features) : [String(features)];
    throw new Error(
      `The feature ${first?.slice(0, MAX_SHOWN_CHARACTERS)} is not supported: install it in \`postCreateCommand\` or in the environment's setup commands, or use an image that contains it.`,
    );
  }
  for (const [field, reason] of Object.entries(refusedFields)) {
    if (isSet(object[field])) throw new Error(`\`${field}\` ${reason}`);
  }
}

function listIgnored(object: Record<string, unknown>, workspaceFolder: string): string[] {
  const folder = object.workspaceFolder;
  const isOtherFolder =
    isSet(folder) && folder !== workspaceFolder && !/^\$\{\w+WorkspaceFolder\}$/.test(String(folder));
  return [
    ...Object.entries(ignoredFields).flatMap(([field, reason]) =>
      isSet(object[field]) ? [`\`${field}\` is ignored, because ${reason}.`] : [],
    ),
    ...(isOtherFolder
      ? [`\`workspaceFolder\` is ignored, because the repository is in ${workspaceFolder}.`]
      : []),
  ];
}

interface ReadOptions extends ParseOptions {
  notices: string[];
}

function readImage({ image }: File, { workspaceFolder }: ParseOptions): string {
  if (!image)
    throw new Error(
      "`image` is missing: name the image that provides the system, or a Dockerfile in `build.dockerfile`.",
    );
  const onHostVariable = (variable: string) => {
    throw new Error(
      `\`image\` needs the variable ${shown(variable)} of the host: name an image, or add a default.`,
    );
  };
  const reference = ImageReference.safeParse(substitute(image, { workspaceFolder, onHostVariable }));
  if (!reference.success)
    throw new Error(describeIssue({ path: ["image"], message: reference.error.issues[0]?.message }));
  return reference.data;
}

/** Leaves out variables whose value only the host knows. */
function readVariables(
  file: File,
  field: "containerEnv" | "remoteEnv",
  { workspaceFolder, notices }: ReadOptions,
): Record<string, string> {
  const entries = Object.entries(file[field] ?? {}).flatMap(([key, value]): [string, string][] => {
    if (value === null) return [];
    let hostVariable: string | undefined;
    const onHostVariable = (variable: string) => {
      hostVariable = variable;
    };
    const text = substitute(value, { workspaceFolder, onHostVariable });
    if (hostVariable === undefined) return [[key, requireText(text, `${field}.${key}`)]];
    notices.push(
      `\`${field}.${shown(key)}\` is ignored, because it needs the variable ${shown(hostVariable)} of the host. Set it in the environment's variables.`,
    );
    return [];
  });
  return Object.fromEntries(entries);
}

function readCommands(
  file: File,
  fields: readonly ((typeof setupFields)[number] | "postStartCommand")[],
  { workspaceFolder, notices }: ReadOptions,
): string[] {
  return fields.flatMap((field) => {
    const onHostVariable = (variable: string) =>
      notices.push(`\`${field}\` uses the variable ${shown(variable)} of the host, which is empty here.`);
    const command = shellCommand(file[field] ?? "", (text) =>
      substitute(text, { workspaceFolder, onHostVariable }),
    );
    if (command === undefined) return [];
    if (command.length > MAX_COMMAND_CHARACTERS)
      throw new Error(
        `\`${field}\` is longer than ${MAX_COMMAND_CHARACTERS} characters: move it to a script.`,
      );
    return [requireText(command, field)];
  });
}

const shown = (text: string) => text.slice(0, MAX_SHOWN_CHARACTERS);

/** Neither programs nor the database can receive other texts. */
function requireText(text: string, field: string): string {
  if (text.includes("\0") || !text.isWellFormed())
    throw new Error(`\`${shown(field)}\` contains characters that are not text.`);
  return text;
}
