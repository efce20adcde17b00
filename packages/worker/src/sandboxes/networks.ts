import { closeSync } from "node:fs";
import type { Server } from "node:net";
import { hold } from "./holder.ts";
import { mark } from "./mark.ts";
import { Spares } from "./spares.ts";

export const proxyPort = 3128;

/** A network of its own, in which there is localhost and nothing else, held by open files. */
export interface Network {
  net: number;
  /** What an ordinary user needs to enter it: the user namespace that it belongs to. */
  user: number | undefined;
  /** Takes what connects to the proxy's port inside. */
  listener: Server | undefined;
}

export type NetworkKind = "quiet" | "listening";

// No TypeScript here: to strip its types would double the time that this takes.
const listen = `
const server = require("node:net").createServer();
server.listen(${proxyPort}, "127.0.0.1", () => process.send({}, server, () => console.log(process.pid)));
process.stdin.on("end", () => process.exit()).resume();
`;

const programs: Record<NetworkKind, string[]> = {
  quiet: ["sh", "-c", "echo $$; read -r _", mark],
  listening: [process.execPath, "-e", listen, mark],
};

/** The one with a listener takes a whole start of Node to make. */
export function openNetworks(): Spares<NetworkKind, Network> {
  return new Spares({ make, discard: closeNetwork });
}

export function closeNetwork({ net, user, listener }: Network): void {
  listener?.close();
  closeSync(net);
  if (user !== undefined) closeSync(user);
}

/** By bubblewrap, because it brings localhost up; other tools would need the package iproute2. */
async function make(kind: NetworkKind): Promise<Network> {
  const isRoot = process.getuid?.() === 0;
  const asRootOfItsOwn = isRoot ? [] : ["--unshare-user", "--uid", "0", "--gid", "0"];
  const walls = ["--unshare-net", ...asRootOfItsOwn, "--die-with-parent", "--dev-bind", "/", "/"];
  const { files, listener } = await hold({
    argv: ["bwrap", ...walls, ...programs[kind]],
    cwd: "/",
    give: [],
    namespaces: isRoot ? ["net"] : ["net", "user"],
    listens: kind === "listening",
  });
  // Neither a spare nor a sandbox that nobody uses is a reason for the worker to go on.
  listener?.unref();
  return { net: files[0] as number, user: files[1], listener };
}
