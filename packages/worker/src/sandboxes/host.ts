import { join } from "node:path";
import { Bases } from "./bases.ts";
import { type Cgroups, openCgroups } from "./cgroups/cgroups.ts";
import { openDisks } from "./disk.ts";
import { makeEtc } from "./etc.ts";
import { Grounds } from "./grounds.ts";
import { type Identity, rememberIdentity } from "./identity.ts";
import type { Capabilities } from "./limits.ts";
import { type Network, type NetworkKind, openNetworks } from "./networks.ts";
import { Fifos } from "./pipes.ts";
import type { Log } from "./sandbox.ts";
import { Filter } from "./seccomp/filter.ts";
import type { Spares } from "./spares.ts";
import { Switch } from "./switch/switch.ts";

/** What all sandboxes of one worker share. */
export interface Host {
  root: string;
  log: Log;
  identity: Identity | undefined;
  /** Options of bubblewrap that put /etc in place. */
  etc: string[];
  filter: Filter;
  cgroups: Cgroups;
  bases: Bases;
  networks: Spares<NetworkKind, Network>;
  grounds: Grounds;
  fifos: Fifos;
  switch: Switch;
  capabilities: Capabilities;
}

export async function openHost(options: { root: string; log: Log; onSwitchDeath(): void }): Promise<Host> {
  const { root, log } = options;
  const filter = new Filter(root);
  const identity = rememberIdentity(root);
  const cgroups = await openCgroups({ name: root });
  const owner = identity ?? { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
  const disks = await openDisks({ folder: join(root, ".disks"), owner });
  return {
    ...{ root, log, filter, identity, cgroups },
    etc: makeEtc(join(root, ".etc")),
    bases: new Bases(root, identity),
    networks: openNetworks(),
    grounds: new Grounds({ root, identity, disks }),
    fifos: new Fifos(root),
    switch: new Switch({ log, onDeath: options.onSwitchDeath }),
    capabilities: {
      ...cgroups.capabilities,
      disk: disks.capability,
      network: { enforced: true, by: "a network namespace" },
      seccomp: filter.capability,
    },
  };
}
