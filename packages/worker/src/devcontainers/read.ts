import { Failure } from "@outrider/agent/failure";
import type { BuildDevcontainer } from "@outrider/contract/devcontainer";
import type { AssignedEnvironment } from "@outrider/contract/worker/environment";
import type { ResolvedRepository } from "../builds/repository-contents.ts";
import { quote } from "../quote.ts";
import { openCommit } from "../repositories/commit-reader.ts";
import { sandboxPaths } from "../sandboxes/paths.ts";
import { type Devcontainer, MAX_FILE_BYTES, parseDevcontainer } from "./parse.ts";
import { substituteContainerEnv } from "./substitute.ts";

/** Reads an environment's devcontainer.json at the commit of its first repository. Undefined if it has none. */
export async function readDevcontainer(
  { devcontainer: path }: AssignedEnvironment,
  repositories: ResolvedRepository[],
  signal: AbortSignal,
): Promise<Devcontainer | undefined> {
  const [repository, ...others] = repositories;
  if (path === undefined || !repository) return undefined;
  const { url, mirror, commit } = repository;
  const [content] = await openCommit({ mirror, commit, signal }).read([path], { maxBytes: MAX_FILE_BYTES });
  if (content?.type === "file") {
    const workspaceFolder = `${sandboxPaths.workspace}/${repository.path}`;
    const text = content.data.toString("utf8");
    const devcontainer = parseDevcontainer(text, { path, blobId: content.id, workspaceFolder });
    // With one repository, start commands run in its folder anyway.
    return others.length === 0 ? devcontainer : withStartFolder(devcontainer, workspaceFolder);
  }
  const problem =
    content?.type === "large"
      ? `${path} is larger than 256 KiB.`
      : `${url} has no file ${path} at ${commit.slice(0, 12)}. Correct \`devcontainer\`, or add the file's folder to \`sparse_paths\` if the repository has them.`;
  throw new Failure("environment_setup_failed", problem);
}

function withStartFolder(devcontainer: Devcontainer, folder: string): Devcontainer {
  const { forRuns } = devcontainer;
  const start_commands = forRuns.start_commands.map((command) => `cd ${quote(folder)} && { ${command}\n}`);
  return { ...devcontainer, forRuns: { ...forRuns, start_commands } };
}

/** Returns the environment variables that the file adds to those of the image. */
export function containerVariables(
  { container_env, remote_env }: BuildDevcontainer,
  image: Record<string, string>,
): Record<string, string> {
  const resolve = (variables: Record<string, string>, env: Record<string, string>) =>
    Object.fromEntries(
      Object.entries(variables).map(([name, value]) => [name, substituteContainerEnv(value, env)]),
    );
  const container = resolve(container_env, image);
  return { ...container, ...resolve(remote_env, { ...image, ...container }) };
}
