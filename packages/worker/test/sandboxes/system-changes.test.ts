/** The program that finds the changes to the system of an image, with an overlay as in containers. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { paddingOf, writeHeader } from "../../src/images/tar-header.ts";
import { nativeProgram } from "../../src/sandboxes/files/programs.ts";

/**
 * Makes two systems with the same image, `one` and `two`, each with a volume. `mark` and `pack` are for the first one, and
 * `unpack` for the second. Everything is below a mount point that only the script sees.
 */
const setup = `
set -e
mount -t tmpfs tmpfs "$1"; cd "$1"; mkdir image
(cd image; mkdir proc workspace etc usr usr/share usr/share/data; echo kept > etc/kept; echo gone > etc/gone
  for name in a b c; do echo $name > usr/share/data/$name; done; touch -d 2001-01-01 usr/share usr/share/data/*)
for name in one two; do
  mkdir $name $name.upper $name.work
  if [[ $2 == overlay ]]; then mount -t overlay -o lowerdir=image,upperdir=$name.upper,workdir=$name.work overlay $name
  else mount -t tmpfs tmpfs $name; cp -a image/. $name; fi
  cp "$3" $name/program; mount -t proc proc $name/proc; mount -t tmpfs tmpfs $name/workspace
done
mark=($(chroot one /program mark))
pack() { chroot one /program pack "\${mark[@]}" /workspace; }
unpack() { chroot two /program unpack; }
list() { (cd $1; find . -xdev ! -name program ! -path ./proc -printf '%P %y %m %U:%G %s %n %l\\n' | sort); }
`;

function run(script: string, kind: "overlay" | "tmpfs" = "overlay"): string {
  const folder = mkdtempSync(join(tmpdir(), "outrider-changes-"));
  try {
    const args = ["-m", "bash", "-c", setup + script, "bash", folder, kind, nativeProgram("system-changes")];
    return execFileSync("unshare", args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    return stdout + stderr;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

// Only root can mount file systems.
describe.runIf(process.platform === "linux" && process.getuid?.() === 0)("changes to a system", () => {
  test("are restored with their owners, modes, links, holes and attributes, and without what was removed", () => {
    const output = run(`
      rm one/etc/gone one/usr/share/data/a; mkdir -p one/opt/tool "one/opt/$(seq -s- 60)"; echo x > one/opt/tool/x
      ln one/opt/tool/x one/opt/tool/y; ln -s nowhere one/opt/tool/link; chown 12:34 one/opt/tool/x; chmod 4750 one/opt/tool/x
      setcap cap_net_bind_service+ep one/opt/tool/x; mkfifo one/opt/pipe; touch -d @7 one/opt/pipe; truncate -s 3G one/opt/holes; echo end >> one/opt/holes
      rm -r one/usr/share/data/b; mkdir one/usr/share/data/b; echo work > one/workspace/file; touch -d @5.25 one/opt/tool/x
      pack > archive; unpack < archive
      diff <(list one) <(list two); stat -c "%Y %y" two/opt/tool/x two/opt/pipe; getcap two/opt/tool/x; du -k two/opt/holes; tail -c 4 two/opt/holes
      cat two/workspace/file; tar tf archive | grep -c data/c || true; stat -c %s archive`);
    const [time, ofPipe, capability, holes, end, work, unchanged, size] = output.split("\n");
    expect(time).toMatch(/^5 .*\.250000000/);
    expect(ofPipe).toMatch(/^7 /);
    expect(capability).toContain("cap_net_bind_service=ep");
    expect(holes).toBe("4\ttwo/opt/holes");
    expect([end, work, unchanged]).toEqual(["end", "work", "0"]);
    expect(Number(size)).toBeLessThan(50_000);
  });

  test("are an archive that tar can read", () => {
    const output = run(`
      echo new > one/etc/new; truncate -s 1G one/etc/holes; echo end >> one/etc/holes; rm one/etc/gone
      mkdir read; pack | tar -C read -xf -; ls read/etc; stat -c %s read/etc/holes; cat read/etc/new`);
    expect(output).toBe("holes\nnew\n1073741828\nnew\n");
  });

  test("can be packed again from where they were restored", () => {
    const output = run(`
      echo new > one/etc/new; rm one/usr/share/data/a
      pack > first; unpack < first; chroot two /program pack "\${mark[@]}" /workspace > second
      diff <(tar tf first) <(tar tf second) && echo same; tar tf second`);
    expect(output).toMatch(/^same\n/);
    expect(output).not.toContain("kept");
  });

  test("contain all files of a folder that was moved as a whole", () => {
    const script =
      "mv one/usr/share/data one/moved; pack | unpack; diff <(list one) <(list two) && ls two/moved";
    for (const kind of ["overlay", "tmpfs"] as const) expect(run(script, kind)).toBe("a\nb\nc\n");
  });

  test("are refused if the clock was set back, or if the image is another one", () => {
    expect(run("mark=(${mark[0]} $((mark[1] + 1000000000))); pack")).toContain(
      "The clock of the node was set back",
    );
    expect(run("rm one/etc/gone; rm two/etc/kept; pack > archive; unpack < archive")).toBe(
      "/etc/kept is neither in the build nor in the image. Build the environment again.\n",
    );
  });

  test("are restored where a folder with hard links has become a volume", () => {
    const output = run(`
      mkdir -p one/home/app two/home/app; mount -t tmpfs tmpfs two/home/app
      echo text > one/home/app/file; chown 12:34 one/home/app/file; chmod 4750 one/home/app/file
      setcap cap_net_bind_service+ep one/home/app/file; touch -d @7 one/home/app/file; ln one/home/app/file one/opt-file
      pack | unpack; stat -c "%u:%g %a %Y %h" two/opt-file; getcap two/opt-file; cat two/opt-file two/home/app/file`);
    expect(output).toBe("12:34 4750 7 1\ntwo/opt-file cap_net_bind_service=ep\ntext\ntext\n");
  });

  test("leave out devices of a volume", () => {
    const output = run(`
      echo text > one/workspace/file; mknod one/workspace/device c 0 0; pack | unpack; ls two/workspace`);
    expect(output).toBe("file\n");
  });

  test.each(["00000000000005 SCHILY.xattr.user.a=b\n", "23 SCHILY.xattr.user.a=", "x", "-1 path=a\n"])(
    "with an invalid extended header are refused: %j",
    (record) => {
      const data = Buffer.from(record);
      const header = writeHeader({
        ...{ type: "x", name: "@", linkName: "", mode: 0, uid: 0, gid: 0, mtime: 0 },
        size: data.length,
      });
      const archive = Buffer.concat([header, data, Buffer.alloc(paddingOf(data.length))]);
      expect(run(`base64 -d <<< ${archive.toString("base64")} | unpack`)).toBe("The archive is invalid.\n");
    },
  );

  test("of a home are copied without what is outside of it", () => {
    const output = run(`
      mkdir -p one/root/.config/proc; echo text > one/root/.config/file; ln -s /etc one/root/link; chown 5:6 one/root; mkdir one/to one/also
      chroot one /program fill /missing /to /root /to /usr/share/data /also; ls one/also
      diff <(cd one/root; find . -printf '%P %y %U:%G %s\\n' | sort) <(cd one/to; find . -printf '%P %y %U:%G %s\\n' | sort) && echo same`);
    expect(output).toBe("a\nb\nc\nsame\n");
  });

  test("can be read from a file of the system", () => {
    const output = run(`
      rm one/etc/gone; pack > two/changes; chroot two /program unpack /changes; ls two/etc
      chroot two /program unpack /missing || echo failed`);
    expect(output).toBe("kept\nfailed\n");
  });
});
