import { posix } from "node:path";
import { DockerfileSource } from "@outrider/contract/dockerfile";
import { z } from "zod";
import { substitute } from "./substitute.ts";

const text = z.string({ error: "must be a string" });

/** The properties that name a Dockerfile. `dockerFile` and `context` are their old forms. */
export const buildFields = {
  build: z
    .looseObject({
      dockerfile: text.optional(),
      context: text.optional(),
      target: text.optional(),
      args: z
        .record(z.string(), z.string(), { error: "must be an object whose values are strings" })
        .optional(),
    })
    .optional(),
  dockerFile: text.optional(),
  context: text.optional(),
};

interface BuildOptions {
  /** The path of the devcontainer.json. Its folder is that of relative paths. */
  path: string;
  workspaceFolder: string;
  notices: string[];
}

/** Returns the Dockerfile that the file names, if it names one. */
export function readBuild(
  { build, dockerFile, context }: z.infer<z.ZodObject<typeof buildFields>>,
  { path, workspaceFolder, notices }: BuildOptions,
): DockerfileSource | undefined {
  const name = build?.dockerfile ?? dockerFile;
  if (!name) {
    if (build) throw new Error("`build.dockerfile` is missing: name the Dockerfile.");
    return undefined;
  }
  const { options, cacheFrom } = build ?? {};
  if (Array.isArray(options) && options.length > 0)
    throw new Error("`build.options` is not supported: Dockerfiles are not built with Docker.");
  if (cacheFrom !== undefined) notices.push("`build.cacheFrom` is ignored.");
  const onHostVariable = (variable: string) =>
    notices.push(
      `\`build.args\` uses the variable ${variable.slice(0, 200)} of the host, which is empty here.`,
    );
  const args = Object.entries(build?.args ?? {}).map(([arg, value]) => [
    arg,
    substitute(value, { workspaceFolder, onHostVariable }),
  ]);
  const relative = (file: string) => posix.join(posix.dirname(path), file).replace(/(?<=.)\/$/, "");
  const source = DockerfileSource.safeParse({
    path: relative(name),
    context: relative(build?.context ?? context ?? "."),
    ...(build?.target ? { target: build.target } : {}),
    ...(args.length > 0 ? { args: Object.fromEntries(args) } : {}),
  });
  if (source.success) return source.data;
  const [issue] = source.error.issues;
  const [field, ...rest] = issue?.path ?? [];
  const property = [field === "path" ? "dockerfile" : field, ...rest].map(String).join(".").slice(0, 200);
  throw new Error(`\`build.${property}\` ${issue?.message}.`);
}
