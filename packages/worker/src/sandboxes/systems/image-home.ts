/** The homes of an image's users, by the rules of native/sandbox-files.c. */
import { posix } from "node:path";
import { sandboxPaths } from "../paths.ts";

/** A volume at one of these paths would hide or break the system. Homes there are not stored in snapshots. */
const systemFolder =
  /^\/(|(bin|boot|dev|etc|lib|lib32|lib64|libx32|proc|run|sbin|sys|usr)(\/.*)?|home|media|mnt|opt|opt\/outrider(\/.*)?|srv|tmp|var|var\/(cache|lib|log|run|spool|tmp))$/;

/** Whether a home can be a volume that hides what the image has there. */
export function canBeVolume(home: string): boolean {
  const isInWorkspace = `${home}/`.startsWith(`${sandboxPaths.workspace}/`);
  return !isInWorkspace && !systemFolder.test(home);
}

/** `accounts`: the content of /etc/passwd. */
export function homeOf(user: string, accounts: string): string {
  const name = user.split(":")[0] ?? "";
  const isNumber = /^\d{1,9}$/.test(name);
  const lines = accounts.split("\n").map((line) => line.split(":"));
  const account = lines.find((fields) => {
    return fields.length >= 6 && (isNumber ? Number(fields[2]) === Number(name) : fields[0] === name);
  });
  const home = account?.[5] ?? "";
  if (/^\/./.test(home)) return posix.normalize(home).replace(/(?<=.)\/$/, "");
  const isRoot = !account && (name === "root" || Number(name) === 0);
  return isRoot ? "/root" : sandboxPaths.home;
}
