import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import type { Sandbox } from "../../src/sandboxes/sandbox.ts";
import { run, until } from "../sandboxes/sandbox-support.ts";
import { describePlace, type Fixture } from "./fixture.ts";
import type { Place } from "./place.ts";

/** Snapshots and their restoration. */
export function testSnapshots(place: Place): void {
  describePlace("snapshots", place, defineTests);
}

function defineTests(getFixture: () => Fixture): void {
  describe("a snapshot", () => {
    test("restores files, modes, links and empty folders", async () => {
      const first = await getFixture().open();
      const second = await getFixture().open();
      await run(
        first,
        `mkdir -p empty deep/er "with space" locked; echo hello > deep/er/file; printf x > "with space/ü"
       printf y > $'new\\nline'; ln -s er/file deep/link; ln -s /nowhere dangling; chmod 750 deep/er/file
       chmod 500 locked; ln deep/er/file hard; truncate -s 1T huge; chmod 640 huge; touch -d @1000000000 old`,
      );
      const list = async (of: Sandbox) =>
        (
          await run(
            of,
            "find . -printf '%p %y %m %l %n %s %T@\\n' | grep -v '^. d' | sort; cat deep/link hard",
          )
        ).stdout;
      await second.restore(first.snapshot());
      const expected = await list(first);
      // The size of a folder depends on the file system.
      const comparable = (text: string) => text.replaceAll(/ d (\d+) {2}\d+ \d+ [\d.]+/g, " d $1");
      expect(comparable(await list(second))).toBe(comparable(expected));
      expect(expected).toContain("dangling l 777 /nowhere");
      await first.close();
      await second.close();
    });

    test("restores the home, but nothing else", async () => {
      const [first, second] = [await getFixture().open(), await getFixture().open()];
      await run(
        first,
        "mkdir -p ~/.config; echo h > ~/.config/own; ln ~/.config/own ~/hard; echo t > /tmp/lost",
      );
      await run(first, "ln -s .config/own ~/link; touch -d @1000000000 ~/old; chmod 751 ~/old; chmod 750 ~");
      await second.restore(first.snapshot());
      const list =
        "cat ~/.config/own; stat -c '%h %Y %a %N' ~ ~/hard ~/old ~/link | sed 's/^[0-9]* [0-9]* 750/750/'";
      expect((await run(second, list)).stdout).toBe((await run(first, list)).stdout);
      expect((await run(second, "ls -A /workspace /tmp/lost 2> /dev/null")).stdout).toBe("/workspace:\n");
      await first.close();
      await second.close();
    });

    test("skips at most unreadable files", async () => {
      const first = await getFixture().open();
      const second = await getFixture().open();
      await run(
        first,
        "echo a > readable; echo b > shut; mkdir none; echo c > none/c; chmod 000 shut none ~",
      );
      await second.restore(first.snapshot());
      expect((await run(second, "cat readable")).stdout).toBe("a\n");
      await first.close();
      await second.close();
    });

    test("reports an early failure to a later reader", async () => {
      const closed = await getFixture().open();
      await closed.close();
      const stream = closed.snapshot();
      // An unhandled stream error would end the process.
      await until(() => stream.errored && stream.closed);
      await expect(buffer(stream)).rejects.toThrow("closed");
    });

    test("reports failures as an error of the stream or of restore", async () => {
      const closed = await getFixture().open();
      await closed.close();
      const { sandbox } = getFixture();
      await expect(buffer(closed.snapshot())).rejects.toThrow("closed");
      await expect(sandbox.restore(Readable.from([Buffer.from("no archive")]))).rejects.toThrow(
        "Failed to unpack",
      );
      const broken = new Readable({
        read() {
          this.destroy(new Error("lost connection"));
        },
      });
      await expect(sandbox.restore(broken)).rejects.toMatchObject({ cause: { message: "lost connection" } });
    });

    test("fails if the sandbox is killed halfway", async () => {
      const { sandbox } = getFixture();
      await run(sandbox, "head -c 20000000 /dev/urandom > noise");
      const stream = sandbox.snapshot();
      stream.once("readable", () => void sandbox.kill());
      await expect(buffer(stream)).rejects.toThrow("killed");
    });

    test("does not restore a hostile archive outside the sandbox", async () => {
      const { sandbox, open } = getFixture();
      const [other, name] = [await open(), `outrider-evil-${randomUUID()}`];
      await run(sandbox, "mkdir -p hostile && cd hostile && ln -s /tmp/../etc out && echo x > evil");
      const { stdout } = await run(
        sandbox,
        `cd hostile && tar -cPzf - --transform 's,^evil,../../../../tmp/${name},' out evil | base64 -w0`,
      );
      await other.restore(Readable.from([Buffer.from(stdout, "base64")])).catch(() => {});
      expect(existsSync(`/tmp/${name}`)).toBe(false);
      await other.close();
    });
  });

  describe("a fingerprint", () => {
    const { signal } = new AbortController();
    const files =
      "echo a > file; echo g > gone; mkdir folder; ln -s file link; echo h > ~/own; mkdir ~/.config";
    const changes = [
      "touch -r file /tmp/time; echo b > file; touch -r /tmp/time file",
      "chmod 600 file",
      "touch -d @1000000000 file",
      "rm gone",
      "mv folder renamed",
      "ln -sfn gone link",
      "ln file hard",
      "rm hard",
      "mkdir folder",
      "touch ~/.config/new",
      "rm ~/own",
      "chmod 711 ~",
    ];

    test.each([true, false])("differs after every change, and only then (base: %s)", async (hasBase) => {
      const { open, provider } = getFixture();
      const base = hasBase ? { base: randomUUID() } : {};
      const first = await open();
      await run(first, files);
      if (base.base) await provider.saveBase(first, base.base);
      const sandbox = hasBase ? await open(base) : first;
      const seen = new Set<string>();
      for (const change of ["true", ...changes]) {
        expect(await run(sandbox, change)).toMatchObject({ exitCode: 0, stderr: "" });
        const { value, isStable } = await sandbox.fingerprint({ signal });
        expect({ change, isStable, isNew: !seen.has(value) }).toEqual({
          change,
          isStable: true,
          isNew: true,
        });
        seen.add(value);
        await run(sandbox, "cat file; ls -lR . ~; echo x > /tmp/other");
        expect(await sandbox.fingerprint({ signal })).toMatchObject({ value, isStable: true });
      }
      await sandbox.close();
      if (base.base) await provider.removeBase(base.base);
    });

    test("is not stable while a process runs that a command left behind", async () => {
      const sandbox = await getFixture().open();
      await run(sandbox, "nohup sleep 600 > /dev/null 2>&1 &");
      const { value, isStable } = await sandbox.fingerprint({ signal });
      expect(isStable).toBe(false);
      await sandbox.kill();
      expect(await sandbox.fingerprint({ signal })).toMatchObject({ value, isStable: true });
      await sandbox.close();
    });

    test("is current until anything starts that could change files", async () => {
      const sandbox = await getFixture().open();
      sandbox.warmUp();
      const first = await sandbox.fingerprint({ signal });
      expect(first.isCurrent()).toBe(true);
      await run(sandbox, "mkdir folder; touch folder/file");
      expect(first.isCurrent()).toBe(false);
      const second = await sandbox.fingerprint({ signal });
      expect(second.entries).toBe(first.entries + 2);
      expect([first.isCurrent(), second.isCurrent()]).toEqual([false, true]);
      const script = await sandbox.inspect("true", { signal });
      script.stdout.resume();
      script.stderr.resume();
      await script.ended;
      expect(second.isCurrent()).toBe(false);
      await run(sandbox, "nohup sleep 600 > /dev/null 2>&1 &");
      expect((await sandbox.fingerprint({ signal })).isCurrent()).toBe(false);
      await sandbox.close();
    });
  });
}
