import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseExceptions } from "../../src/egress/exceptions.ts";
import { openLocalProvider } from "../../src/sandboxes/local/local-provider.ts";
import type { OpenOptions, Sandbox, SandboxImage, SandboxProvider } from "../../src/sandboxes/sandbox.ts";
import { pullSystemImage } from "../images/pull-system-image.ts";
import { systemLayer } from "../images/system-image.ts";
import { inMs, isRoot, makeRoot, run, silent } from "./sandbox-support.ts";

const { root, remove } = makeRoot();
let provider: SandboxProvider;

const open = (options: Partial<OpenOptions> = {}) =>
  provider.open({ id: randomUUID(), deadline: inMs(120_000), label: {}, ...options });

/** Saves a base with the files that a command creates. */
async function makeBase(command: string, options: Partial<OpenOptions> = {}): Promise<string> {
  const name = randomUUID();
  const sandbox = await open(options);
  expect(await run(sandbox, command)).toMatchObject({ exitCode: 0 });
  await provider.saveBase(sandbox, name);
  return name;
}

/** Lists all files with mode, target, size, time and hash. Omits the times and sizes of folders. */
async function describeFiles(sandbox: Sandbox, folder = "."): Promise<string[]> {
  const { stdout } = await run(
    sandbox,
    `cd ${folder}
     find . -mindepth 1 \\( -type d -printf '%p d %m\\0' \\) -o -printf '%p %y %m %l %s %T@\\0'
     find . -type f -readable -exec sha256sum -z {} +`,
  );
  return stdout.split("\0").sort();
}

beforeAll(async () => {
  provider = await openLocalProvider({ root, log: silent, exceptions: parseExceptions("127.0.0.1") });
});

afterAll(async () => {
  for (const { name } of provider?.listBases() ?? []) await provider.removeBase(name);
  await provider?.stop();
  await remove();
});

describe("a base", () => {
  test("provides its workspace and home to every sandbox, and no sandbox can change it", async () => {
    const base = await makeBase("echo w > file; mkdir -p a/b; echo h > ~/.config; echo t > /tmp/gone");
    const [first, second] = await Promise.all([open({ base }), open({ base })]);
    const inspect = "cat file ~/.config; ls /tmp; ls -A a";
    expect((await run(first, inspect)).stdout).toBe("w\nh\nb\n");
    await run(first, "echo changed > file; rm -r a; echo new > ~/new; chmod 000 ~ /workspace");
    expect((await run(first, "cat file ~/new; ls")).stdout).toBe("changed\nnew\nfile\n");
    expect((await run(second, `${inspect}; ls -A ~`)).stdout).toBe("w\nh\nb\n.config\n");
    await first.close();
    await second.close();
    const third = await open({ base });
    expect((await run(third, inspect)).stdout).toBe("w\nh\nb\n");
    await third.close();
  });

  test("can be saved from a sandbox that started from another base", async () => {
    const first = await makeBase("echo 1 > one; echo 2 > two; mkdir d; ln -s one link");
    const second = await makeBase("rm one; echo 3 > three; chmod 741 d; touch -d @1000000000 two", {
      base: first,
    });
    const sandbox = await open({ base: second });
    const { stdout } = await run(
      sandbox,
      "ls -A; cat two three; stat -c %a d; stat -c %Y two; readlink link",
    );
    expect(stdout).toBe("d\nlink\nthree\ntwo\n2\n3\n741\n1000000000\none\n");
    await sandbox.close();
  });

  test("is listed with its size and last use, and can be removed unless a sandbox uses it", async () => {
    const before = Date.now() - 2000;
    const base = await makeBase("head -c 3000000 /dev/urandom > noise");
    const found = provider.listBases().find(({ name }) => name === base);
    expect(found?.bytes).toBeGreaterThan(3e6);
    expect(found?.bytes).toBeLessThan(4e6);
    expect(found?.usedAt).toBeGreaterThan(before);
    const sandbox = await open({ base });
    await expect(provider.removeBase(base)).rejects.toThrow("in use by 1 open");
    await sandbox.close();
    await provider.removeBase(base);
    expect(provider.listBases().map(({ name }) => name)).not.toContain(base);
    await expect(open({ base })).rejects.toThrow("not found");
    await expect(open({ base: "../.etc" })).rejects.toThrow("not found");
    await expect(provider.removeBase("..")).rejects.toThrow("not found");
    expect(readdirSync(join(root, ".bases")).filter((name) => name.startsWith("."))).toEqual([]);
  });

  test("stays unchanged if its name is saved again", async () => {
    const base = await makeBase("echo first > file");
    const again = await open();
    await run(again, "echo second > file");
    await provider.saveBase(again, base);
    await expect(run(again, "true")).rejects.toThrow("closed");
    const sandbox = await open({ base });
    expect((await run(sandbox, "cat file")).stdout).toBe("first\n");
    await sandbox.close();
    await expect(provider.saveBase(sandbox, base)).rejects.toThrow("not open");
  });
});

describe("a sandbox over a base", () => {
  test("removes its folder when it is closed", async () => {
    const base = await makeBase("mkdir -p a/b/c; touch a/b/c/d");
    const sandbox = await open({ base });
    await run(sandbox, "rm -r a/b; mkdir -p a/b/x; chmod 000 a/b/x a/b a; chmod 000 /workspace ~ /tmp");
    await sandbox.close();
    expect(existsSync(join(root, sandbox.id))).toBe(false);
  });
});

const oddNames = `$'new\\nline' ./-rf "with space" "ü" '*' '\\'`;
const allKindsOfFiles = `
  mkdir -p folder/sub same/deep replaced becomes-file opaque/x kept moved odd
  echo a > folder/a; echo b > folder/sub/b; echo s > same/deep/s; echo r > replaced/r; echo f > becomes-folder
  echo o > opaque/o; echo x > opaque/x/x; echo k > kept/k; echo m > moved/m
  ln -s folder link; ln -s folder link-becomes-folder; mkdir folder-becomes-link; echo l > folder-becomes-link/l
  echo h > hard1; ln hard1 hard2; for n in ${oddNames}; do echo odd > "odd/$n"; done
  mkdir locked; echo l > locked/l; chmod 500 locked; echo t > touched; echo p > mode; truncate -s 20M sparse`;
const allKindsOfChanges = `
  rm folder/a; echo new > folder/sub/new; rm -r replaced; echo file > becomes-file.tmp; rm -r becomes-file
  mv becomes-file.tmp becomes-file; rm becomes-folder; mkdir becomes-folder; echo in > becomes-folder/in
  rm -r opaque; mkdir -p opaque/x; echo y > opaque/x/y; mv moved moved-away; rm link; ln -s kept link
  rm link-becomes-folder; mkdir link-becomes-folder; echo 1 > link-becomes-folder/b
  rm -r folder-becomes-link; ln -s kept folder-becomes-link; echo h2 >> hard2
  cd odd; for n in ${oddNames}; do echo more > "$n.new"; rm -- "$n"; done; cd ..
  chmod 700 locked; rm locked/l; echo in > locked/in; chmod 500 locked; touch -d @1000000000 touched
  chmod 751 mode; rm sparse; truncate -s 30M sparse2; echo 1 > new1; ln new1 new2
  deep=$(printf 'dddddddd/%.0s' {1..100}); mkdir -p "$deep"; echo deep > "$deep/file"; mkdir empty; mkfifo fifo
  rm same/deep/s`;

/** How workers of the previous version apply a snapshot over a base. */
const previousUnpack = `
set -o pipefail
gzip -dc | {
  IFS= read -r line && read -r kind base both deleted rest <<< "$line"
  head -c "$both" | xargs -0 -r chmod u+rwx -- 2> /dev/null
  head -c "$deleted" | xargs -0 -r rm -rf -- || exit 1
  exec tar --no-same-owner --same-permissions -xf -
}`;

describe("a snapshot over a base", () => {
  test("contains the difference and restores the same files over the same base", async () => {
    const base = await makeBase(allKindsOfFiles);
    const [first, second] = [await open({ base }), await open({ base })];
    expect(await run(first, allKindsOfChanges)).toMatchObject({ exitCode: 0, stderr: "" });
    const snapshot = await buffer(first.snapshot());
    expect(snapshot.length).toBeLessThan(10_000);
    await second.restore(Readable.from([snapshot]));
    const expected = await describeFiles(first);
    expect(expected.length).toBeGreaterThan(40);
    expect(await describeFiles(second)).toEqual(expected);
    // A restore can be repeated, for example after an interrupted stream.
    await second.restore(Readable.from([snapshot]));
    expect(await describeFiles(second)).toEqual(expected);
    // A snapshot of the restored workspace is equivalent to the first.
    const third = await open({ base });
    await third.restore(second.snapshot());
    expect(await describeFiles(third)).toEqual(expected);
    expect((await run(third, "stat -c %h new1 new2")).stdout).toBe("2\n2\n");
    await Promise.all([first, second, third].map((sandbox) => sandbox.close()));
  });

  test("of an unchanged workspace is small and restores nothing", async () => {
    const base = await makeBase("for i in {1..300}; do mkdir $i; echo $i > $i/file; done");
    const [first, second] = [await open({ base }), await open({ base })];
    const before = await describeFiles(second);
    const snapshot = await buffer(first.snapshot());
    expect(snapshot.length).toBeLessThan(1000);
    await second.restore(Readable.from([snapshot]));
    expect(await describeFiles(second)).toEqual(before);
    await first.close();
    await second.close();
  });

  test("does not treat unreadable folders as deleted", async () => {
    const base = await makeBase("mkdir -p a/b; echo 1 > a/b/1; echo 2 > a/2; echo 3 > 3");
    const [first, second] = [await open({ base }), await open({ base })];
    await run(first, "rm 3; touch a/b/x; chmod 000 a/b; chmod 000 a");
    await second.restore(first.snapshot());
    expect((await run(second, "cat a/b/1 a/2; ls")).stdout).toBe("1\n2\na\n");
    await first.close();
    await second.close();
  });

  test("contains the difference in the home too", async () => {
    const base = await makeBase(`cd ~; ${allKindsOfFiles}`);
    const [first, second] = [await open({ base }), await open({ base })];
    expect(await run(first, `echo w > file; cd ~; ${allKindsOfChanges}; chmod 750 ~`)).toMatchObject({
      exitCode: 0,
    });
    await second.restore(first.snapshot());
    const expected = await describeFiles(first, "~");
    expect(expected.length).toBeGreaterThan(40);
    expect(await describeFiles(second, "~")).toEqual(expected);
    expect((await run(second, "cat file; stat -c %a ~; ls /workspace")).stdout).toBe("w\n750\nfile\n");
    await first.close();
    await second.close();
  });

  test("is read by workers that know no homes in snapshots, and theirs is read here", async () => {
    const base = await makeBase("echo 1 > kept; echo 2 > gone");
    const [first, second] = [await open({ base }), await open({ base })];
    await run(first, "rm gone; echo 3 > new; head -c 3000000 /dev/urandom > ~/noise");
    const folder = mkdtempSync(join(tmpdir(), "outrider-test-"));
    try {
      writeFileSync(join(folder, "gone"), "");
      execFileSync("bash", ["-c", previousUnpack], { cwd: folder, input: await buffer(first.snapshot()) });
      expect(readdirSync(folder)).toEqual(["new"]);
      const list = { cwd: folder, input: "./new\0" };
      const archive = execFileSync("tar", ["--format=pax", "--null", "-T", "-", "-cf", "-"], list);
      const header = `outrider-difference ${base} 2 7\n.\0./gone\0`;
      await second.restore(Readable.from([gzipSync(Buffer.concat([Buffer.from(header), archive]))]));
      expect((await run(second, "ls; cat new; ls -A ~")).stdout).toBe("kept\nnew\n3\n");
    } finally {
      rmSync(folder, { recursive: true });
    }
    await first.close();
    await second.close();
  });

  describe.runIf(isRoot)("with an image", () => {
    let image: SandboxImage;
    beforeAll(async () => {
      image = { ...(await pullSystemImage(provider, systemLayer())), user: "worker" };
    });

    test.each([true, false])("restores workspace and home with their owners (base: %s)", async (hasBase) => {
      const prepare = "echo 1 > ~/kept; echo 2 > ~/gone; echo 3 > /workspace/gone";
      const options = { image, ...(hasBase ? { base: await makeBase(prepare, { image }) } : {}) };
      const [first, second] = [await open(options), await open(options)];
      await run(first, "rm -f ~/gone gone; echo 4 > new; mkdir ~/.config; echo 5 > ~/.config/own; id -u");
      await run(first, "echo 6 > /home/worker/root; echo 7 > root; echo 8 > /etc/lost", { asRoot: true });
      await second.restore(first.snapshot());
      const list = `cd ~; find . /workspace -type f -printf '%p %U %G %m\\n' | sort; cat root; test -e /etc/lost || echo lost`;
      expect((await run(second, list)).stdout).toBe(
        [
          ...["./.config/own 1234 1234 644", ...(hasBase ? ["./kept 1234 1234 644"] : []), "./root 0 0 644"],
          ...["/workspace/new 1234 1234 644", "/workspace/root 0 0 644", "6", "lost", ""],
        ].join("\n"),
      );
      await first.close();
      await second.close();
    });
  });

  test("is rejected over another base or without a base, and so is a full snapshot over a base", async () => {
    const [base, other] = [await makeBase("echo 1 > file"), await makeBase("echo 2 > file")];
    const [over, overOther, without] = [await open({ base }), await open({ base: other }), await open()];
    await expect(overOther.restore(over.snapshot())).rejects.toThrow(
      `created over the base ${base}, not over`,
    );
    await expect(without.restore(over.snapshot())).rejects.toThrow("Failed to unpack");
    await expect(over.restore(without.snapshot())).rejects.toThrow("not created over a base");
    for (const sandbox of [over, overOther, without]) await sandbox.close();
  });

  test("does not follow a symlink of the base out of the workspace", async () => {
    const base = await makeBase("ln -s /etc out; ln -s /tmp there; touch file");
    const [first, second] = [await open({ base }), await open({ base })];
    await run(first, "rm out there; mkdir -p out/ssl there/x; touch out/ssl/new");
    await run(second, "touch /tmp/mine; mkdir /tmp/x");
    await second.restore(first.snapshot());
    expect((await run(second, "ls out/ssl; ls /tmp; test -L out || echo no link")).stdout).toBe(
      "new\nmine\nx\nno link\n",
    );
    await first.close();
    await second.close();
  });
});
