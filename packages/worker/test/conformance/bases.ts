import { randomUUID } from "node:crypto";
import { buffer } from "node:stream/consumers";
import { expect, test } from "vitest";
import type { Sandbox, Spawned } from "../../src/sandboxes/sandbox.ts";
import { run } from "../sandboxes/sandbox-support.ts";
import { describePlace, type Fixture, signal } from "./fixture.ts";
import type { Place } from "./place.ts";

export async function readAll({ stdout, stderr, ended }: Spawned): Promise<Buffer> {
  stderr.resume();
  const [bytes, { exitCode }] = await Promise.all([buffer(stdout), ended]);
  expect(exitCode).toBe(0);
  return bytes;
}

export async function writeAll({ stdin, stdout, stderr, ended }: Spawned, bytes: Buffer): Promise<void> {
  stdout.resume();
  stdin.end(bytes);
  const [message, { exitCode }] = await Promise.all([buffer(stderr), ended]);
  expect({ exitCode, message: message.toString() }).toEqual({ exitCode: 0, message: "" });
}

/** Bases of containers, which have the changes to the system of an image too. */
export function testBases(place: Place): void {
  describePlace("bases", place, defineTests);
}

function defineTests(getFixture: () => Fixture): void {
  const prepare = (system: boolean) => `
    mkdir d; echo base > d/file; echo gone > d/gone; echo own > ~/own; chmod 750 ~ d
    ${system ? "echo new > /etc/new; rm -r /etc/group; mkdir /opt/tool; echo x > /opt/tool/x; chown 1234 /opt/tool/x" : ""}`;
  const list = `stat -c '%a %u %n' d/file d ~; cat d/file ~/own; ls d; cat /etc/new; ls /etc/group; stat -c %u /opt/tool/x`;
  const listOf = async (sandbox: Sandbox) => (await run(sandbox, `exec 2>&1\n${list}`)).stdout;

  test("share their files with sandboxes, whose changes stay apart", async () => {
    const { open, provider, system } = getFixture();
    const origin = await open();
    await run(origin, prepare(system.isImage));
    const expected = await listOf(origin);
    const base = randomUUID();
    await provider.saveBase(origin, base);
    const [first, second] = [await open({ base }), await open({ base })];
    expect(await listOf(first)).toBe(expected);
    await run(first, "rm d/gone; echo more >> d/file; touch ~/first");
    expect(await listOf(second)).toBe(expected);
    const next = randomUUID();
    const changed = await listOf(first);
    await provider.saveBase(first, next);
    await second.close();
    await provider.removeBase(base);
    const third = await open({ base: next });
    expect(await listOf(third)).toBe(changed);
    expect(changed).toContain("base\nmore\n");
    await expect(provider.removeBase(next)).rejects.toThrow("in use by 1 open sandbox");
    await third.close();
    await provider.removeBase(next);
    await expect(open({ base })).rejects.toThrow("not found");
  });

  test("are packed and unpacked with all their files", async () => {
    const { open, provider, system, image } = getFixture();
    const origin = await open(image ? { image: { ...image, user: "worker" } } : {});
    await run(origin, prepare(system.isImage), { asRoot: true });
    const archive = await readAll(await provider.packBase(origin, { signal }));
    const expected = await listOf(origin);
    await origin.close();
    const copy = await open();
    await writeAll(await provider.unpackBase(copy, { signal }), archive);
    const base = randomUUID();
    await provider.saveBase(copy, base);
    const opened = await open({ base, ...(image ? { image: { ...image, user: "worker" } } : {}) });
    expect(await listOf(opened)).toBe(expected);
    await opened.close();
    await provider.removeBase(base);
  });
}
