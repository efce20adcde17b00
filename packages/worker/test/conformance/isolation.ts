import { createServer } from "node:net";
import { describe, expect, test } from "vitest";
import { run, until } from "../sandboxes/sandbox-support.ts";
import { describePlace, type Fixture } from "./fixture.ts";
import type { Place } from "./place.ts";

/** What a command sees of the host and of other sandboxes. */
export function testIsolation(place: Place): void {
  describePlace("isolation", place, defineTests);
}

function defineTests(getFixture: () => Fixture): void {
  describe("a sandbox", () => {
    test("has only the capabilities of its system, cannot gain any and cannot create a user namespace", async () => {
      const { sandbox, system } = getFixture();
      const { stdout } = await run(sandbox, "grep -E '^(Cap|NoNewPrivs)' /proc/self/status /proc/1/status");
      const sets = stdout
        .trim()
        .split("\n")
        .map((line) => line.split(":\t"));
      // gVisor does not list all of them.
      expect(sets).toHaveLength(system.hasOwnKernel ? 8 : 12);
      for (const [index, [name, value]] of sets.entries()) {
        const isGained = !/(Prm|Eff|Bnd)$/.test(name ?? "");
        const isInit = index >= sets.length / 2;
        const own = isInit ? (system.pod?.capabilities ?? system.capabilities) : system.capabilities;
        const expected = isGained ? ["0000000000000000", own] : [own];
        expect([name, name?.includes("NoNewPrivs") ? ["1"] : expected]).toEqual([
          name,
          expect.arrayContaining([value]),
        ]);
      }
      const inNamespaces = ["unshare -U true", "unshare -r true"];
      const attempts = ["unshare -m true", "mount -t tmpfs x /tmp"];
      for (const attempt of system.hasOwnKernel ? attempts : [...inNamespaces, ...attempts]) {
        expect([attempt, (await run(sandbox, attempt)).exitCode]).not.toEqual([attempt, 0]);
      }
    });

    test("has no network, not even to the host", async () => {
      const { sandbox, system } = getFixture();
      const server = createServer((socket) => socket.end("reached")).listen(0, "127.0.0.1");
      await until(() => server.listening);
      const { port } = server.address() as { port: number };
      const { stdout } = await run(
        sandbox,
        "tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '; tail -n +2 /proc/net/unix | sed 's/.* //' | sort -u | grep .",
      );
      const { interfaces = [], sockets = [] } = system.pod ?? {};
      // The connection to init has no name, only a number.
      const found = stdout
        .trim()
        .split("\n")
        .filter((line) => !system.pod || !/^\d+$/.test(line));
      expect(found).toEqual(["lo", ...interfaces, ...sockets]);
      for (const address of [`127.0.0.1/${port}`, "1.1.1.1/80", "169.254.169.254/80"]) {
        const attempt = await run(sandbox, `timeout 5 bash -c 'cat < /dev/tcp/${address}'`);
        expect(attempt).toMatchObject({ exitCode: 1, stdout: "" });
        expect(attempt.stderr).toMatch(/refused|unreachable|No route/);
      }
      server.close();
    });

    test("sees only its own processes and none of the worker's files or variables", async () => {
      const { sandbox, system } = getFixture();
      const inits = system.pod ? "outrider-init,outrider-init" : "outrider-init";
      const list = "cat /proc/[0-9]*/comm; cat /proc/*/environ | tr '\\0' '\\n'";
      let stdout = "";
      // The supervisor of an earlier command may still be about to exit.
      await until(async () => {
        stdout = (await run(sandbox, list)).stdout;
        const names = stdout.split("\n").filter((line) => !line.includes("="));
        return names.join() === `${inits},outrider-sup,bash,`;
      });
      expect(stdout).not.toContain("VITEST");
      // The kernel of the sandbox may let commands see the files of init, which are none of the host's.
      const ofOthers = system.hasOwnKernel ? "true" : "readlink /proc/1/fd/* /proc/$PPID/fd/*";
      const files = await run(sandbox, `echo /proc/$$/fd/*; ${ofOthers}`);
      expect(files.stdout).toMatch(/^(\/proc\/\d+\/fd\/[0-3] ?){3,4}\n$/);
    });

    test("cannot see another sandbox", async () => {
      const { sandbox, open } = getFixture();
      const other = await open();
      await run(other, "echo hidden | tee /workspace/secret /tmp/secret ~/secret");
      const { stdout } = await run(
        sandbox,
        "cat /workspace/secret /tmp/secret ~/secret; ls /tmp /workspace/..",
      );
      expect(stdout).not.toMatch(/hidden|secret/);
      await other.close();
    });
  });
}
