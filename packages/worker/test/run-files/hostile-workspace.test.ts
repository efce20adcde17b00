import { createHash, randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Redactor } from "../../src/redaction/redact.ts";
import { listFolder } from "../../src/run-files/list-folder.ts";
import { storeFile } from "../../src/run-files/store-file.ts";
import { openLocalProvider } from "../../src/sandboxes/local/local-provider.ts";
import type { Sandbox, SandboxProvider } from "../../src/sandboxes/sandbox.ts";
import { inMs, makeRoot, run, silent } from "../sandboxes/sandbox-support.ts";

/** Lists and reads files of a workspace whose commands are hostile. */

const SECRET = "a-very-secret-value";
const { root, remove } = makeRoot();
let provider: SandboxProvider;
let sandbox: Sandbox;

beforeAll(async () => {
  provider = await openLocalProvider({ root, log: silent });
  sandbox = await provider.open({ id: randomUUID(), label: {}, deadline: inMs(300_000) });
});

afterAll(async () => {
  await sandbox?.close();
  await provider?.stop();
  await remove();
});

const signal = () => AbortSignal.timeout(60_000);
const redactor = new Redactor([SECRET]);
const list = (path: string) => listFolder(sandbox, path, { redactor, signal: signal() });

/** Stores a file and returns what was uploaded. */
async function read(path: string, maxBytes?: number): Promise<Buffer> {
  const uploaded: Buffer[] = [];
  const putBlob = async (content: Buffer | string, sha256: string) => {
    const data = typeof content === "string" ? readFileSync(content) : content;
    expect(createHash("sha256").update(data).digest("hex")).toBe(sha256);
    uploaded.push(data);
  };
  const options = { redactor, server: { putBlob }, folder: join(root, "transfers"), signal: signal() };
  const stored = await storeFile(sandbox, path, { ...options, ...(maxBytes ? { maxBytes } : {}) });
  const content = Buffer.concat(uploaded);
  expect(stored.size_bytes).toBe(content.length);
  return content;
}

const reason = (name: string) => expect.objectContaining({ name: "RunFileError", reason: name });

describe("a folder", () => {
  test("lists folders first, with sizes, times and types", async () => {
    await run(
      sandbox,
      `mkdir -p list/b list/c; cd list; printf 12345 > z.txt; touch -d 2020-01-02T03:04:05Z z.txt
       : > $'new\\nline'; ln -s /etc/passwd link; mkfifo pipe; touch -d @99999999999999 b`,
    );
    const { entries, is_truncated } = await list("list");
    expect(is_truncated).toBe(false);
    expect(entries.map(({ name, type }) => `${type} ${name}`)).toEqual([
      "folder b",
      "folder c",
      "link link",
      "file new\nline",
      "other pipe",
      "file z.txt",
    ]);
    expect(entries.at(-1)).toEqual({
      ...{ name: "z.txt", type: "file", size_bytes: 5, modified_at: "2020-01-02T03:04:05.000Z" },
    });
  });

  test("with more entries than can be listed is cut off", async () => {
    await run(sandbox, "mkdir huge; cd huge; seq -f 'file-%.0f' 20000 | xargs touch");
    const { entries, is_truncated } = await list("huge");
    expect(entries).toHaveLength(2_000);
    expect(is_truncated).toBe(true);
  });

  test("shows no secret in names", async () => {
    await run(sandbox, `mkdir named; touch named/${SECRET}.txt`);
    expect((await list("named")).entries.map(({ name }) => name)).toEqual(["***.txt"]);
  });

  test("that does not exist, is a file, or cannot be read is an error", async () => {
    await run(sandbox, "echo x > plain; mkdir locked; chmod 000 locked");
    await expect(list("nothing/here")).rejects.toEqual(reason("not_found"));
    await expect(list("plain")).rejects.toEqual(reason("not_a_folder"));
    await expect(list("plain/below")).rejects.toEqual(reason("not_a_folder"));
  });

  test("with a name that a shell could misread is listed", async () => {
    const name = "-rf $(touch owned) `id` 'q' \"d\" *\\";
    await run(sandbox, 'mkdir -p -- "odd/$NAME"; echo in > "odd/$NAME/file"', { env: { NAME: name } });
    expect((await list("odd")).entries).toMatchObject([{ name, type: "folder" }]);
    expect((await list(`odd/${name}`)).entries).toMatchObject([{ name: "file" }]);
    expect((await read(`odd/${name}/file`)).toString()).toBe("in\n");
    expect((await run(sandbox, "ls; ls odd")).stdout).not.toMatch(/^owned$/m);
  });
});

describe("a path", () => {
  test("through a link does not leave the workspace", async () => {
    await run(
      sandbox,
      "mkdir deep; ln -s /etc out; ln -s ../plain deep/in; ln -s / deep/root; echo x > plain",
    );
    await expect(list("out")).rejects.toEqual(reason("not_a_folder"));
    await expect(read("out/passwd")).rejects.toEqual(reason("not_a_folder"));
    await expect(read("deep/root/etc/passwd")).rejects.toEqual(reason("not_a_folder"));
    await expect(read("deep/in")).rejects.toEqual(reason("not_a_file"));
  });

  test("with .. does not leave the workspace, even if the server passes it on", async () => {
    await expect(list("deep/../../etc")).rejects.toEqual(reason("not_found"));
    await expect(read("../etc/passwd")).rejects.toEqual(reason("not_found"));
    await expect(read("deep/..")).rejects.toEqual(reason("not_a_file"));
  });

  test("that commands exchange for a link all the time never shows another folder", async () => {
    await run(sandbox, "mkdir real; echo mine > real/passwd; ln -s /etc fake; mv real swap");
    const stop = new AbortController();
    const swapping = run(
      sandbox,
      "while :; do mv swap real; mv fake swap; mv swap fake; mv real swap; done",
      {
        signal: stop.signal,
        timeoutMs: 120_000,
      },
    );
    for (let attempt = 0; attempt < 40; attempt++) {
      const content = await read("swap/passwd").catch((error) => {
        expect(error.name).toBe("RunFileError");
        return undefined;
      });
      if (content === undefined) continue;
      expect(content.toString()).toBe("mine\n");
    }
    stop.abort();
    await swapping;
  });
});

describe("a file", () => {
  test("is returned unchanged if it contains no secret", async () => {
    await run(sandbox, "head -c 300000 /dev/urandom > noise; sha256sum < noise > sum");
    const content = await read("noise");
    const [sum] = (await read("sum")).toString().split(" ");
    expect(createHash("sha256").update(content).digest("hex")).toBe(sum);
  });

  test("that is empty is returned", async () => {
    await run(sandbox, ": > empty");
    expect(await read("empty")).toHaveLength(0);
  });

  test("is redacted if it is text, and refused if it is binary", async () => {
    await run(sandbox, `printf 'key=${SECRET}\\n' > settings; printf 'x\\0${SECRET}' > program`);
    expect((await read("settings")).toString()).toBe("key=***\n");
    await expect(read("program")).rejects.toEqual(reason("contains_secret"));
  });

  test("larger than the limit is refused, also if its size is a lie", async () => {
    await run(sandbox, "head -c 200000 /dev/zero > large; truncate -s 5G sparse");
    expect(await read("large", 200_000)).toHaveLength(200_000);
    await expect(read("large", 199_999)).rejects.toEqual(reason("too_large"));
    await expect(read("sparse")).rejects.toEqual(reason("too_large"));
  });

  test("that grows while it is read is refused when it exceeds the limit", async () => {
    await run(sandbox, "echo start > growing");
    const stop = new AbortController();
    const growing = run(sandbox, "while :; do cat /dev/zero | head -c 50M >> growing; : > growing; done", {
      signal: stop.signal,
      timeoutMs: 120_000,
    });
    const results = [];
    for (let attempt = 0; attempt < 10; attempt++)
      results.push(
        await read("growing", 100_000).then(
          (content) => content.length <= 100_000,
          (error) => error.reason === "too_large",
        ),
      );
    stop.abort();
    await growing;
    expect(results).toEqual(results.map(() => true));
  });

  test("that is a pipe, a socket, a device or a folder is refused at once", async () => {
    await run(sandbox, "mkdir plainfolder; mkfifo fifo");
    for (const path of ["plainfolder", "fifo"])
      await expect(read(path)).rejects.toEqual(reason("not_a_file"));
    await expect(read("missing")).rejects.toEqual(reason("not_found"));
  });
});
