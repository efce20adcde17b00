import { closeSync } from "node:fs";
import type { Server } from "node:net";
import { Pool } from "../pool.ts";
import { createNamespaces } from "../process/namespaces.ts";
import { processTag } from "../process/process-tag.ts";

export const proxyPort = 3128;

/** A network namespace that has only localhost. It exists while its files are open. */
export interface Network {
  net: number;
  /** The user namespace that owns the network namespace. An ordinary user must enter it first. */
  user: number | undefined;
  /** Accepts connections to the proxy's port inside the namespace. */
  listener: Server | undefined;
}

export type NetworkKind = "isolated" | "withListener";

// Plain JavaScript, because stripping types would double the start time.
const listenScript = `
const server = require("node:net").createServer();
server.listen(${proxyPort}, "127.0.0.1", () => process.send({}, server, () => console.log(process.pid)));
process.stdin.on("end", () => process.exit()).resume();
`;

const holderPrograms: Record<NetworkKind, string[]> = {
  isolated: ["sh", "-c", "echo $$; read -r _", processTag],
  withListener: [process.execPath, "-e", listenScript, processTag],
};

/** Opens the pool of networks. They are pooled because creating one with a listener requires starting Node. */
export function openNetworks(): Pool<NetworkKind, Network> {
  return new Pool({ create: createNetwork, discard: closeNetwork });
}

export function closeNetwork({ net, user, listener }: Network): void {
  listener?.close();
  closeSync(net);
  if (user !== undefined) closeSync(user);
}

/**
 * Creates a network with bubblewrap, because it brings up localhost; other tools would require the package iproute2.
 */
async function createNetwork(kind: NetworkKind): Promise<Network> {
  const isRoot = process.getuid?.() === 0;
  const userNamespace = isRoot ? [] : ["--unshare-user", "--uid", "0", "--gid", "0"];
  const options = ["--unshare-net", ...userNamespace, "--die-with-parent", "--dev-bind", "/", "/"];
  const { files, listener } = await createNamespaces({
    argv: ["bwrap", ...options, ...holderPrograms[kind]],
    cwd: "/",
    passFds: [],
    namespaces: isRoot ? ["net"] : ["net", "user"],
    sendsListener: kind === "withListener",
  });
  // A pooled network or an idle sandbox must not keep the worker process running.
  listener?.unref();
  return { net: files[0] as number, user: files[1], listener };
}
