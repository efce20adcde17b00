import { sandboxFilesPath } from "../files/programs.ts";
import { firstBytes } from "../first-bytes.ts";
import type { InitConnection } from "../init/init-connection.ts";
import { sandboxPaths } from "../paths.ts";
import { SandboxImageError } from "../sandbox.ts";

const noShell =
  "The image has neither bash nor /bin/sh, one of which runs commands: use an image that has a shell.";
const notFoundCode = 44;
const notMappedCode = 46;
const maxUserBytes = 16 * 1024;
/** Images have the ids below. */
const idLimit = 0x1_0000;

/** A user of an image, as its own files describe it. */
export interface ImageUser {
  uid: number;
  gid: number;
  groups: number[];
  home: string;
  shell: string;
}

/** Looks up a user and creates the workspace and the home. `isAgain`: they exist since an earlier call. */
export async function prepareUser(
  connection: InitConnection,
  { user, isAgain, mayLackShell }: { user: string; isAgain: boolean; mayLackShell: boolean },
): Promise<ImageUser> {
  const { workspace, home } = sandboxPaths;
  const args = ["prepare", workspace, home, user, ...(isAgain ? ["again"] : [])];
  const found = await runLookup(connection, args, user);
  if (found.shell === "" && !mayLackShell) throw new SandboxImageError(noShell);
  return found;
}

export async function findUser(connection: InitConnection, user: string): Promise<ImageUser> {
  const found = await runLookup(connection, ["user", user], user);
  if (found.shell === "") throw new SandboxImageError(noShell);
  return found;
}

async function runLookup(connection: InitConnection, args: string[], user: string): Promise<ImageUser> {
  const command = connection.start({
    argv: [sandboxFilesPath, ...args],
    env: {},
    folders: ["/"],
    stdin: false,
  });
  await command.started;
  const [output, stderr, { exitCode }] = await Promise.all([
    firstBytes(command.stdout, maxUserBytes),
    firstBytes(command.stderr, 500),
    command.ended,
  ]);
  if (exitCode === notFoundCode)
    throw new SandboxImageError(`The image has no user "${user}": set \`user\` to one that it has.`);
  if (exitCode === notMappedCode)
    throw new SandboxImageError(
      `This worker has only one user id, so commands cannot run as "${user}": set \`user\` to root, or let the operator add ids for the worker (docs/running.md).`,
    );
  if (exitCode !== 0)
    throw new SandboxImageError(
      `The image's folders cannot be prepared: ${stderr.toString().trim() || "it took too long"}.`,
    );
  return parseUser(output.toString());
}

/** The output is untrusted: the image decides what its user is. */
function parseUser(output: string): ImageUser {
  const [uid, gid, home = "", shell = "", ...groups] = output.split("\0").slice(0, -1);
  const ids = [uid, gid, ...groups].map(Number);
  if (!home.startsWith("/") || !ids.every((id) => Number.isInteger(id) && id < idLimit))
    throw new Error("The image's user has ids above 65535 or no valid home.");
  const [userId = 0, groupId = 0, ...groupIds] = ids;
  return { uid: userId, gid: groupId, home, shell, groups: groupIds };
}
