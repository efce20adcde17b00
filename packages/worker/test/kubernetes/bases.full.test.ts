import { randomUUID } from "node:crypto";
import { afterAll, expect, test } from "vitest";
import { rejectLeftoverSecrets } from "../../src/builds/leftover-secrets.ts";
import type { Sandbox } from "../../src/sandboxes/sandbox.ts";
import { readAll, testBases, writeAll } from "../conformance/bases.ts";
import { describePlace, type Fixture, openFixture, signal } from "../conformance/fixture.ts";
import { hostileTar, type Member } from "../escape/hostile-tar.ts";
import { run } from "../sandboxes/sandbox-support.ts";
import { kubernetesImagePlace, kubernetesPlace } from "./kubernetes-places.ts";
import { stopSharedCluster } from "./shared-cluster.ts";

afterAll(stopSharedCluster);

for (const place of [kubernetesPlace, kubernetesImagePlace]) testBases(place);
describePlace("builds", kubernetesImagePlace, defineTests);

const outputOf = async (sandbox: Sandbox, command: string) => {
  const { stdout, stderr } = await run(sandbox, `exec 2>&1; ${command}`);
  return stdout + stderr;
};

function defineTests(getFixture: () => Fixture): void {
  test("restore everything that a command can change, in the pods of another worker", async () => {
    const { open, provider, image } = getFixture();
    const build = async (sandbox: Sandbox) => {
      const command = `
        mkdir -p /usr/share/tool/deep "/usr/share/tool/$(seq -s- 60)"; echo 1 > /usr/share/tool/data
        ln /usr/share/tool/data /usr/share/tool/same; ln -s data /usr/share/tool/link; chown -h 7:8 /usr/share/tool/link
        chmod 4755 /usr/share/tool/data; touch -d 2001-02-03 /usr/share/tool/data; mkfifo /usr/share/tool/pipe
        truncate -s 3G /var/sparse; echo end >> /var/sparse
        rm /etc/group; mv /home/worker /home/moved; rm -r /home/moved; echo text > /home/moved
        rm /usr/bin/yes; mkdir /usr/bin/yes; echo tool > /usr/bin/yes/tool
        echo 'builder:x:2000:2000::/home/builder:/bin/bash' >> /etc/passwd
        mkdir -p /home/builder; echo mine > /home/builder/file; chown -R 2000:2000 /home/builder; echo new > ~/new`;
      expect(await outputOf(sandbox, command)).toBe("");
      await sandbox.kill();
    };
    const list = `
      stat -c '%n %A %h %u:%g %Y %s' /usr/share/tool/* /var/sparse /usr/bin/yes; stat -c %b /var/sparse; readlink /usr/share/tool/link
      ls -A /etc /home ~; cat /etc/group /home/moved /usr/bin/yes/tool /home/builder/file ~/new; stat -c '%n %u %a' /home/builder/file`;
    // Files of the image's own home.
    const withHome = await open();
    await build(withHome);
    const expected = await outputOf(withHome, list);
    expect(expected).toContain("/etc/group: No such file");
    const archive = await readAll(await provider.packBase(withHome, { signal }));
    // Nothing of the image itself is packed.
    expect(archive.length).toBeLessThan(2 ** 20);
    const other = await openFixture(kubernetesImagePlace);
    try {
      const fetched = await other.open();
      await writeAll(await other.provider.unpackBase(fetched, { signal }), archive);
      await other.provider.saveBase(fetched, "fetched");
      const copy = await other.open({ base: "fetched" });
      expect(await outputOf(copy, list)).toBe(expected);
      // Packed once more, it is the same.
      const again = randomUUID();
      await run(copy, "echo more > /etc/more");
      await other.provider.saveBase(copy, again);
      if (!other.image || !image) throw new Error("The place has no image.");
      const builder = await other.open({ base: again, image: { ...other.image, user: "builder" } });
      const commands = "cat ~/file /etc/more; id -un; echo $HOME; ls -A /root 2>&1; echo changed > ~/file";
      expect(await outputOf(builder, commands)).toMatch(/^mine\nmore\nbuilder\n\/home\/builder\n/);
      // The home of this user is what snapshots contain.
      const snapshot = builder.snapshot();
      const restored = await other.open({ base: again, image: { ...other.image, user: "builder" } });
      await restored.restore(snapshot);
      expect(await outputOf(restored, "cat ~/file")).toBe("changed\n");
      expect(await outputOf(restored, list.replaceAll("~", "/root"))).toContain("/etc/more".slice(5));
    } finally {
      await other.cleanUp();
    }
  });

  test("are refused if a secret is in the system", async () => {
    const { open } = getFixture();
    const sandbox = await open();
    const secrets = { TOKEN: "very-secret-value" };
    await run(sandbox, "mkdir /opt/tool; echo fine > /opt/tool/config");
    await sandbox.kill();
    await rejectLeftoverSecrets(sandbox, secrets, signal);
    await run(sandbox, "echo x-very-secret-value > /opt/tool/config");
    await sandbox.kill();
    await expect(rejectLeftoverSecrets(sandbox, secrets, signal)).rejects.toThrow(
      "`TOKEN` is in `/opt/tool/config`",
    );
  });

  test("of a hostile archive change nothing outside of the sandbox, and fail with a reason", async () => {
    const { open, provider } = getFixture();
    const attempt = async (archive: Buffer) => {
      const sandbox = await open();
      await writeAll(await provider.unpackBase(sandbox, { signal }), archive);
      await run(sandbox, "true");
    };
    await expect(attempt(Buffer.alloc(4096, "x"))).rejects.toThrow("The archive of the build is invalid.");
    const description = { name: "outrider-system.json", text: JSON.stringify({ accounts: "" }) };
    const program = { name: "opt/outrider/bin/outrider-init", text: "replaced" };
    const attempts: [Member, RegExp][] = [
      [{ name: "../../outside", text: "x" }, /not a valid name/],
      [{ name: "/etc/absolute", text: "x" }, /not a valid name/],
      [program, /Read-only file system/],
      [{ name: "proc/1/mem", text: "x" }, /proc\/1\/mem: /],
      [{ name: "device", type: "3" }, /unknown type/],
    ];
    for (const [member, reason] of attempts)
      await expect(attempt(hostileTar([description, member]))).rejects.toThrow(reason);
  });
}
