import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { OpenOptions, Sandbox, SandboxImage, SandboxProvider } from "../../src/sandboxes/sandbox.ts";
import { inMs, run, until } from "../sandboxes/sandbox-support.ts";
import type { OpenPlace, Place, PlaceSystem } from "./place.ts";

/** What the tests of one topic share. */
export interface Fixture {
  place: Place;
  system: PlaceSystem;
  provider: SandboxProvider;
  image: SandboxImage | undefined;
  /** A sandbox that all tests of the topic use. */
  sandbox: Sandbox;
  open(options?: Partial<OpenOptions>): Promise<Sandbox>;
  openAgain: OpenPlace["openAgain"];
  processesWith: OpenPlace["processesWith"];
  /** Returns the processes that run `sleep` with the marker: their command has started. */
  sleepersOf(marker: string): Promise<string[]>;
  /** Closes the sandboxes and fails if anything is left of them. */
  cleanUp(): Promise<void>;
}

/**
 * Defines the tests of a topic. If the place cannot use images, but its system is that of an image, it tests only that the
 * provider says so.
 */
export function describePlace<T extends Fixture = Fixture>(
  topic: string,
  place: Place,
  define: (fixture: () => T) => void,
  openTopic: (place: Place) => Promise<Fixture> = openFixture,
): void {
  describe.skipIf(place.problem)(`${topic} (${place.name})`, () => {
    if (place.system.isImage && place.capabilities.images === false) return testRefusedImage(place);
    let fixture: T;
    beforeAll(async () => {
      fixture = (await openTopic(place)) as T;
    });
    afterAll(() => fixture?.cleanUp());
    define(() => fixture);
  });
}

/** Opens the place and one sandbox. */
export async function openFixture(place: Place, options: Partial<OpenOptions> = {}): Promise<Fixture> {
  const opened = await place.open();
  const { provider, image, openAgain, processesWith } = opened;
  const sandboxes: Sandbox[] = [];
  const open = async (more: Partial<OpenOptions> = {}) => {
    const sandbox = await provider.open({
      ...{ id: randomUUID(), deadline: inMs(300_000), label: {} },
      ...{ ...(image ? { image } : {}), ...more },
    });
    sandboxes.push(sandbox);
    return sandbox;
  };
  return {
    ...{ place, system: place.system, provider, image, open, openAgain, processesWith },
    sandbox: await open(options),
    sleepersOf: async (marker) => (await processesWith(marker)).filter((line) => line.startsWith("sleep ")),
    async cleanUp() {
      await Promise.all(sandboxes.map((sandbox) => sandbox.close()));
      for (const { name } of provider.listBases()) await provider.removeBase(name);
      await opened.expectNoLeftovers();
      await opened.close();
    },
  };
}

function testRefusedImage(place: Place): void {
  test("is refused, because this worker cannot use images", async () => {
    const { provider, close } = await place.open();
    expect(provider.images).toBe(undefined);
    const image = {
      ...{ reference: "acme/system:1", digest: `sha256:${"0".repeat(64)}`, layers: [] },
      ...{ env: {}, user: "root", osRelease: "" },
    };
    await expect(
      provider.open({ id: randomUUID(), deadline: inMs(60_000), label: {}, image }),
    ).rejects.toThrow(/image.*worker/);
    expect(provider.count()).toBe(0);
    await close();
  });
}

/** A command that starts while the connection to a pod ends, ends with it. Later ones use the next connection. */
export async function untilItWorks(sandbox: Sandbox): Promise<void> {
  await until(async () => (await run(sandbox, "echo on")).stdout === "on\n");
}

let markers = 0;
/** Returns a duration for `sleep` by which its processes are found. */
export const makeMarker = () => `${5000 + ++markers}.${String(process.pid).padStart(7, "0")}${Date.now()}`;

export const signal = new AbortController().signal;

/** Collects the output of a stream. */
export function collect(stream: NodeJS.ReadableStream): () => string {
  const chunks: Buffer[] = [];
  stream.on("data", (chunk) => chunks.push(chunk));
  return () => Buffer.concat(chunks).toString();
}

/** A command that serves each connection to a port of localhost with the text, until it is killed. */
export const serveText = (port: number, text: string) => `exec perl -MSocket -e '
  socket(my $l, AF_INET, SOCK_STREAM, 0); setsockopt($l, SOL_SOCKET, SO_REUSEADDR, 1);
  bind($l, sockaddr_in(${port}, INADDR_LOOPBACK)) && listen($l, 5) or die $!;
  while (accept(my $c, $l)) { print $c "${text}\\n"; close $c }'`;
