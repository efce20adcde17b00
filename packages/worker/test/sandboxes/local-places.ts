import { dirname } from "node:path";
import { parseExceptions } from "../../src/egress/exceptions.ts";
import { openIdNamespace } from "../../src/id-namespace.ts";
import { removeFolder } from "../../src/remove-folder.ts";
import { openLocalProvider } from "../../src/sandboxes/local/local-provider.ts";
import { idCount } from "../../src/sandboxes/local/systems/uid-ranges.ts";
import type { OpenPlace, Place } from "../conformance/place.ts";
import { pullSystemImage } from "../images/pull-system-image.ts";
import { imageOptions } from "../images/suite-image.ts";
import { systemLayer } from "../images/system-image.ts";
import { leftoversOf, noLeftovers } from "./leftovers.ts";
import { commandLine, isRoot, makeRoot, processesWith, silent, until } from "./sandbox-support.ts";

export interface LocalPlace extends Place {
  open(): Promise<OpenPlace & { root: string }>;
}

/** The local provider with the system of the worker, for the conformance suite. */
export const hostPlace: LocalPlace = {
  name: "local",
  // The control groups of an ordinary user depend on the machine.
  capabilities: isRoot
    ? { memory: true, cpus: true, pids: true, disk: true, network: true, seccomp: true }
    : { disk: false, network: true, seccomp: true },
  system: {
    ...{ isImage: false, user: "sandbox", uid: 1000, home: "/home/sandbox", env: {} },
    ...{ capabilities: "0000000000000000", hasOtherUsers: false, hasOwnKernel: false },
    ...{
      hasWritableDevices: false,
      hasSys: false,
      isWorkspaceMounted: true,
      hasResizeSignal: true,
      findsHoles: true,
    },
  },
  startMs: 0,
  open: () => openPlace(),
};

/** How many user ids an image has. Those of an ordinary user depend on /etc/subuid. */
const ids = isRoot ? idCount : (await openIdNamespace()).count;

/** The local provider with an image, in which commands are root. */
export const imagePlace: LocalPlace = {
  name: ids > 1 ? "local with an image" : "local with an image of one user",
  capabilities: { ...hostPlace.capabilities, ...(isRoot ? {} : { ids: false }) },
  system: {
    ...{ isImage: true, user: "root", uid: 0, home: "/root" },
    ...{ hasOtherUsers: ids > 1, hasOwnKernel: false },
    env: { GIT_CONFIG_SYSTEM: "/opt/outrider/gitconfig" },
    capabilities: "00000000a80025fb",
    ...{
      hasWritableDevices: false,
      hasSys: false,
      isWorkspaceMounted: false,
      hasResizeSignal: true,
      findsHoles: true,
    },
  },
  startMs: 0,
  open: () => {
    layer ??= systemLayer({}, { ...imageOptions(), links: hostileLinks });
    return openPlace(layer);
  },
};

/** Links of the image in place of mount points must not lead a mount elsewhere. */
const hostileLinks = { proc: "/tmp", dev: "/../etc", opt: "/../../tmp", "etc/hosts": "/etc/passwd" };

/** Made once per test file. */
let layer: Buffer | undefined;

export const localPlaces = [hostPlace, imagePlace];

async function openPlace(imageLayer?: Buffer) {
  const { root } = makeRoot();
  const openAgain = () => openLocalProvider({ root, log: silent, exceptions: parseExceptions("127.0.0.1") });
  const provider = await openAgain();
  return {
    ...{ root, provider, openAgain },
    image: imageLayer && provider.images ? await pullSystemImage(provider, imageLayer) : undefined,
    processesWith: async (text: string) => processesWith(text).map(commandLine),
    expectNoLeftovers: () => until(() => JSON.stringify(leftoversOf(root)) === JSON.stringify(noLeftovers)),
    async close() {
      await provider.stop();
      await removeFolder(dirname(root));
    },
  };
}
