import { closeSync } from "node:fs";
import type { Server } from "node:net";
import { join } from "node:path";
import { makeFolder, makeKeptFolder, makeOwnFolders, removeFolder } from "./folders.ts";
import type { Host } from "./host.ts";
import { type Layers, makeLayers } from "./layers.ts";
import { chooseLimits, enforcedWith, type Limits } from "./limits.ts";
import { LocalSandbox } from "./local-sandbox.ts";
import { closeNetwork, type Network, type NetworkKind } from "./networks.ts";
import { Pipes } from "./pipes.ts";
import { proxyEnvironment } from "./proxy.ts";
import type { OpenOptions } from "./sandbox.ts";

/** Puts a sandbox together from what it asks for. What cannot be had leaves nothing behind. */
export async function assemble(
  host: Host,
  options: OpenOptions & { onClosed(): void },
): Promise<LocalSandbox> {
  const { id, label, mounts = [], network: serve, onClosed } = options;
  const { root, identity, etc, filter, log, fifos } = host;
  const limits = chooseLimits(options.limits ?? {}, host.capabilities);
  const folder = makeFolder({ root, id, label, identity });
  const held = new AsyncDisposableStack();
  try {
    const cgroup = held.adopt(host.cgroups.make(id, limits), (group) => group.remove());
    const pipes = held.adopt(new Pipes(fifos), (own) => own.close());
    const network = oneNetwork(host, serve ? "listening" : "quiet", held);
    const connected = serve ? network() : undefined;
    connected?.catch(() => {}); // told when it is waited for
    const layers = await layersFor(host, { folder, base: options.base, limits, network, held });
    const places = layers?.places ?? makeOwnFolders(folder, identity);
    if (!layers) makeKeptFolder(folder, identity);
    if (serve) serve((await connected)?.listener as Server);
    return new LocalSandbox({
      ...{ id, folder, identity, cgroup, layers, network, onClosed, log, pipes, switch: host.switch },
      base: options.base,
      enforced: enforcedWith(limits, host.capabilities),
      inside: { places, etc, mounts, env: serve ? proxyEnvironment : {} },
      seccomp: () => filter.open(),
      release: () => held.disposeAsync(),
    });
  } catch (error) {
    await held.disposeAsync();
    await removeFolder(folder);
    throw error;
  }
}

/** Taken when it is first needed: a sandbox in which nothing runs needs none. */
function oneNetwork(host: Host, kind: NetworkKind, held: AsyncDisposableStack): () => Promise<Network> {
  let taken: Promise<Network> | undefined;
  held.defer(async () => {
    const network = await taken?.catch(() => undefined);
    if (network) closeNetwork(network);
  });
  return () => {
    if (held.disposed) return Promise.reject(new Error("The sandbox is closed."));
    taken ??= host.networks.take(kind).catch((error) => {
      taken = undefined; // the next command tries again
      throw error;
    });
    return taken;
  };
}

async function layersFor(
  host: Host,
  options: {
    folder: string;
    base: string | undefined;
    limits: Limits;
    network(): Promise<Network>;
    held: AsyncDisposableStack;
  },
): Promise<Layers | undefined> {
  const { root, identity } = host;
  const { folder, network, held } = options;
  const { disk_mb } = options.limits;
  if (options.base === undefined && disk_mb === undefined) return undefined;
  const base =
    options.base === undefined
      ? undefined
      : held.adopt(host.bases.take(options.base), ({ release }) => release()).path;
  const user = identity ? undefined : (await network()).user;
  const ground = await host.grounds.take(join(folder, "ground"), { disk_mb, user });
  held.defer(() => closeSync(ground.mnt));
  return await makeLayers({ root, ground, base, user });
}
