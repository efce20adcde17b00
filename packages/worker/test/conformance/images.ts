import { text } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import { run } from "../sandboxes/sandbox-support.ts";
import { describePlace, type Fixture, signal } from "./fixture.ts";
import type { Place } from "./place.ts";

/** What an image decides, and what it must not decide. */
export function testImages(place: Place): void {
  describePlace("images", place, defineTests);
}

/** Runs instead of any program that looks for it, and tells where. Only the worker's scripts see their folders. */
const trap =
  "#!/bin/bash\n/usr/bin/env -i /usr/bin/touch /workspace/ran-$$ /tmp/ran-$$ /home/sandbox/ran-$$\n";
const programs = ["bash", "cat", "env", "find", "git", "gzip", "sh", "tar", "zstd"];

/** Variables that make programs load or run something else. */
const hostile = {
  PATH: "/workspace/bin",
  HOME: "/workspace",
  TMPDIR: "/workspace/bin",
  LD_PRELOAD: "/workspace/bin/library.so",
  LD_LIBRARY_PATH: "/workspace/bin",
  LD_AUDIT: "/workspace/bin/library.so",
  GCONV_PATH: "/workspace/bin",
  BASH_ENV: "/workspace/bin/bash",
  ENV: "/workspace/bin/bash",
  "BASH_FUNC_tar%%": "() { /workspace/bin/bash; }",
  SHELLOPTS: "xtrace",
  PS4: "$(/workspace/bin/bash)",
  IFS: "/",
  GIT_DIR: "/workspace/bin",
  GIT_EXEC_PATH: "/workspace/bin",
  GIT_CONFIG_GLOBAL: "/workspace/bin/gitconfig",
  GIT_SSH_COMMAND: "/workspace/bin/bash",
  GIT_CONFIG_COUNT: "1",
  GIT_CONFIG_KEY_0: "core.fsmonitor",
  GIT_CONFIG_VALUE_0: "/workspace/bin/bash",
  TAR_OPTIONS: "--checkpoint=1 --checkpoint-action=exec=/workspace/bin/bash",
  GZIP: "--help",
  ZSTD_CLEVEL: "x",
  LINES: "one\ntwo",
  LARGE: "x".repeat(100_000),
};

function defineTests(getFixture: () => Fixture): void {
  describe("the user ids of an image", () => {
    test("belong to each sandbox alone as the place declares, or the reason is a sentence", () => {
      const { place, provider, sandbox } = getFixture();
      const { ids } = sandbox.enforced;
      expect(ids).toEqual(provider.images?.ids);
      expect(ids?.enforced).toBe(place.capabilities.ids ?? ids?.enforced);
      if (!ids?.enforced) expect(ids?.reason).toMatch(/^[A-Z].*\.$/);
    });

    test("include those of other users, or commands of these are refused with the reason", async () => {
      const { sandbox, open, image, system } = getFixture();
      if (!image) throw new Error("The place has no image.");
      const command = "id -u; touch mine; stat -c %U:%G mine; echo > /etc/theirs";
      const own = await open({ image: { ...image, user: "worker" } });
      const other = await open();
      const attempts = [() => run(own, command), () => run(other, `cd /tmp; ${command}`, { user: "worker" })];
      for (const attempt of attempts) {
        if (system.hasOtherUsers)
          expect(await attempt()).toMatchObject({
            ...{ stdout: "1234\nworker:worker\n", stderr: expect.stringContaining("Permission denied") },
          });
        else
          await expect(attempt()).rejects.toThrow(
            /^This worker has only one user id, so commands cannot run as "worker": set `user` to root/,
          );
      }
      const { stdout, stderr } = await run(
        sandbox,
        "touch given; chown 1234:4321 given; stat -c %u:%g given ~worker",
      );
      expect(stdout).toBe(system.hasOtherUsers ? "1234:4321\n1234:1234\n" : "0:0\n0:0\n");
      if (!system.hasOtherUsers) expect(stderr).toMatch(/^chown: .*Invalid argument\n$/);
    });
  });

  describe("hostile variables of an image", () => {
    test("reach its commands, but not the worker's own scripts", async () => {
      const { open, image, provider, system } = getFixture();
      if (!image) throw new Error("The place has no image.");
      const user = system.hasOtherUsers ? "worker" : "root";
      const options = { image: { ...image, env: { ...image.env, ...hostile }, user } };
      const sandbox = await open(options);
      // A command with a clean environment makes the traps.
      const clean = { env: { PATH: "/usr/bin:/bin", BASH_ENV: "", LD_PRELOAD: "", SHELLOPTS: "", PS4: "" } };
      for (const name of programs) await sandbox.write(`bin/${name}`, Buffer.from(trap));
      await run(sandbox, "chmod 755 bin/*", { ...clean, asRoot: true });
      // The traps work in a command, so the attempts below are real.
      await run(sandbox, "true");
      const remove = await run(sandbox, "ls ran-* && rm -f ran-* /tmp/ran-* /home/*/ran-*", clean);
      expect(remove.stdout).toMatch(/^ran-\d+\n/);
      const seen = await run(sandbox, 'printf "%s %s" "$LINES" "${#LARGE}"', clean);
      expect(seen.stdout).toBe("one\ntwo 100000");

      await sandbox.write("file", Buffer.from("text"));
      await sandbox.write("/etc/file", Buffer.from("text"), { asRoot: true });
      expect((await sandbox.read("file", 10)).toString()).toBe("text");
      await sandbox.remove("file");
      const inspected = await sandbox.inspect("tar --version > /dev/null; env -0", { signal });
      const [output] = await Promise.all([text(inspected.stdout), text(inspected.stderr), inspected.ended]);
      const variables = Object.fromEntries(output.split("\0").map((each) => each.split(/=(.*)/s)));
      for (const [name, value] of Object.entries(hostile)) {
        expect([name, variables[name]]).not.toEqual([name, value]);
      }
      expect(variables.PATH).not.toContain("workspace");
      const next = await open(options);
      await next.restore(sandbox.snapshot());
      const packed = await provider.packBase(sandbox, { signal });
      const [bytes] = await Promise.all([text(packed.stdout), text(packed.stderr), packed.ended]);
      expect(bytes.length).toBeGreaterThan(1000);
      for (const each of [sandbox, next]) {
        const { stdout } = await run(each, "ls bin; ls -d ran-* /tmp/ran-* ~/ran-* /home/*/ran-*", clean);
        expect(stdout).toBe(`${programs.join("\n")}\n`);
        await each.close();
      }
    });

    test("that are longer than Linux allows are a clear error", async () => {
      const { open, image } = getFixture();
      if (!image) throw new Error("The place has no image.");
      const sandbox = await open({ image: { ...image, env: { LARGE: "x".repeat(200_000) } } });
      await expect(run(sandbox, "true")).rejects.toThrow("longer than Linux allows");
      await sandbox.close();
    });
  });
}
