import { execFile } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { removeFolder } from "../../src/remove-folder.ts";
import { nativeProgram } from "../../src/sandboxes/files/programs.ts";
import { layer } from "../images/images-support.ts";
import { makeImage, push, type RegistryServer, startRegistry } from "../images/registry-server.ts";
import { systemLayer } from "../images/system-image.ts";
import { isRoot } from "./sandbox-support.ts";

const reportScript = join(import.meta.dirname, "rootless-image-report.ts");
const nobody = 65_534;
const firstId = 2_000_000;
/** Runs a program as nobody, who has the ids of these files. */
const asNobody = `
mount --bind "$1" /etc/subuid && mount --bind "$1" /etc/subgid && shift || exit
exec setpriv --reuid ${nobody} --regid ${nobody} --clear-groups "$@"`;

interface Report {
  uid: number;
  ids: object;
  log: string[];
  identity: string;
  image_files: string;
  chown: string;
  removal: string;
  on_base: string;
  restored: string;
  user: string;
  reaped: string[];
}

describe.runIf(isRoot && existsSync("/usr/bin/newuidmap"))(
  "images on a worker that does not run as root",
  () => {
    let registry: RegistryServer;
    let reference: string;
    let parent: string;
    let home: string;

    beforeAll(async () => {
      registry = await startRegistry();
      const layers = [
        systemLayer({ "etc/flavor": "vanilla\n", gone: "1" }),
        layer({ name: ".wh.gone" }, { name: "bin", type: "2", link: "usr/bin" }),
      ];
      reference = await push(registry, "acme/system:1", makeImage({ layers }));
      parent = mkdtempSync(join(tmpdir(), "outrider-rootless-"));
      chmodSync(parent, 0o711);
      // No other user can enter the worker's folder.
      home = join(parent, "home");
      mkdirSync(home, { mode: 0o700 });
      chownSync(home, nobody, nobody);
    });
    afterAll(async () => {
      await registry.close();
      await removeFolder(parent);
    });

    async function report(name: string, ids: string): Promise<Report> {
      const file = join(parent, `${name}-ids`);
      writeFileSync(file, ids);
      const root = join(home, name);
      const args = [
        "--mount",
        "sh",
        "-c",
        asNobody,
        "sh",
        file,
        process.execPath,
        reportScript,
        reference,
        root,
      ];
      const { stdout } = await promisify(execFile)("unshare", args, { cwd: "/" });
      const left = readdirSync(root).filter((entry) => !entry.startsWith("."));
      expect(left).toEqual([]);
      for (const pool of [".rootfs-pool", ".image-rootfs-pool", ".bases"]) {
        expect(readdirSync(join(root, pool))).toEqual([]);
      }
      return JSON.parse(stdout);
    }

    test("have the ids that /etc/subuid gives the worker", async () => {
      const found = await report("range", `nobody:100000:10\nnobody:${firstId}:65536\n`);
      expect(found).toMatchObject({
        uid: nobody,
        ids: { enforced: false, reason: expect.stringContaining(`share the user ids from ${firstId} on`) },
        chown: "1234:4321",
        restored: "new",
        user: "1234\nworker",
        reaped: ["abandoned"],
      });
      expect(found.identity.replaceAll(/ +/g, " ")).toBe("0\n0\n 0 0 65536\n0:0");
      expect(found.image_files).toContain("1234:1234 755\n0:0 755\n");
      expect(found.image_files).toMatch(/gone.*No such file or directory\nvanilla$/);
      expect(found.removal).toContain("No such file or directory");
      expect(found.on_base).toMatch(/No such file or directory\n0:0\n1234:4321\nnew$/);
      expect(found.log.join("\n")).not.toContain("only one user id");
    });

    test("have one id if the worker has no more, and say what does not work", async () => {
      const found = await report("single", "");
      expect(found).toMatchObject({
        uid: nobody,
        ids: {
          enforced: false,
          reason:
            "Sandboxes with an image have only one user id, that of the worker (/etc/subuid gives the user nobody no range of 65536 ids).",
        },
        chown: expect.stringContaining("Invalid argument"),
        restored: "new",
        reaped: ["abandoned"],
        user: expect.stringContaining(
          'only one user id, so commands cannot run as "worker": set `user` to root',
        ),
      });
      expect(found.identity.replaceAll(/ +/g, " ")).toBe("0\n0\n 0 0 1\n0:0");
      expect(found.image_files).toContain("0:0 755\n0:0 755\n");
      expect(found.on_base).toMatch(/No such file or directory\n0:0\n0:0\nnew$/);
      expect(found.log.join("\n")).toContain("This worker has only one user id for images.");
    });
  },
);

test.runIf(isRoot)("the namespace of an image limits the processes of all its users together", async () => {
  const script = `
coproc "$1" "$2" "$2" 65536 "$3"
read -r holder <&"\${COPROC[0]}"
as() { nsenter --user="/proc/$holder/ns/user" --setuid "$1" --setgid "$1" dash -c "$2" 2>&1; }
as 5 'for i in 1 2 3 4 5 6; do sleep 60 & done; wait' &
until (($(pgrep -cu $(($2 + 5)) sleep) == 6)); do :; done
as 6 'for i in 1 2 3 4 5 6; do sleep 60 > /dev/null 2>&1 & done; echo started'
pkill -u $(($2 + 5)),$(($2 + 6))
exec {COPROC[1]}>&-
wait`;
  const run = async (uid: string, processes: string) => {
    const args = ["-c", script, "bash", nativeProgram("mount-image"), uid, processes];
    return (await promisify(execFile)("bash", args)).stdout.trim();
  };
  expect(await run("1700000000", "0")).toBe("started");
  expect(await run("1700100000", "10")).toMatch(/Cannot fork$/);
});
