import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { ensureSystemImage, pulledSystemImage } from "../../src/sandboxes/docker/volumes/system-image.ts";
import { importBusybox, newOwner, openSharedEngine } from "./docker-support.ts";
import { canRunEngines } from "./test-engine.ts";

/** Prints one line for each program that works. */
const script = `
id; pwd
git init -q repository && git -C repository -c user.name=a -c user.email=a@b commit -q --allow-empty -m x && echo git
python3 -c 'import ssl, sqlite3, json, ctypes; print("python3")'
node -p '"node"'; perl -MPOSIX -e 'print "perl\\n"'; awk 'BEGIN { print "awk" }'
curl --version | head -c 4; echo; openssl version | cut -d' ' -f1
tar -c repository | zstd | zstd -d | tar -t | grep -c '^repository/$'
ps -o comm= | sort -u | grep ps; date +%Z; locale charmap; test -s /etc/ssl/certs/ca-certificates.crt && echo certificates
touch /etc/x 2>&1; find / -xdev -perm /6000 | wc -l`;

describe.skipIf(!canRunEngines)("the system image", () => {
  it("has the usual programs of this machine for an unprivileged user, and is made once", async () => {
    const engine = await openSharedEngine();
    const owner = newOwner();
    const image = await ensureSystemImage(engine, { owner });
    expect(await ensureSystemImage(engine, { owner })).toBe(image);
    expect(await ensureSystemImage(engine, { owner: newOwner(), image })).toBe(image);
    const output = new PassThrough();
    const [{ StatusCode }, container] = await engine.docker.run(
      image,
      ["bash", "-c", script],
      [output, output],
      {
        ...{
          User: "1000:1000",
          WorkingDir: "/workspace",
          Tty: false,
          Env: ["LANG=C.UTF-8", "HOME=/home/sandbox"],
        },
        HostConfig: { NetworkMode: "none", CapDrop: ["ALL"], SecurityOpt: ["no-new-privileges"] },
      },
    );
    await container.remove({ v: true });
    output.end();
    expect((await text(output)).trim().split("\n")).toEqual([
      "uid=1000(sandbox) gid=1000(sandbox) groups=1000(sandbox)",
      ...[
        "/workspace",
        "git",
        "python3",
        "node",
        "perl",
        "awk",
        "curl",
        "OpenSSL",
        "1",
        "ps",
        "UTC",
        "UTF-8",
      ],
      ...["certificates", "touch: cannot touch '/etc/x': Permission denied", "0"],
    ]);
    expect(StatusCode).toBe(0);
  });

  it("is pulled if the worker does not run on Linux, whose programs containers need", async () => {
    const engine = await openSharedEngine();
    const image = engine.docker.getImage(await importBusybox(engine));
    const [repo = "", tag = ""] = pulledSystemImage.split(":");
    await image.tag({ repo, tag });
    try {
      const found = await ensureSystemImage(engine, { owner: newOwner(), platform: "darwin" });
      expect(found).toBe((await image.inspect()).Id);
    } finally {
      await engine.docker.getImage(pulledSystemImage).remove();
    }
  });
});
