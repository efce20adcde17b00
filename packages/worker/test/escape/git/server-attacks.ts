import type { ServerResponse } from "node:http";
import type { Attack, AttackFixture, Target } from "./git-attacks.ts";
import { type HostileRepository, packet, sideband } from "./hostile-server.ts";
import { commitOf, copyDelta, objectId, type PackEntry, treeOf, writePack, zeros } from "./pack.ts";

/** Servers that send listings, packs or responses that no real git server sends. */

const blob = Buffer.from("hello\n");
const blobId = objectId("blob", blob);
const tree = treeOf([["100644", "README.md", blobId]]);
const treeId = objectId("tree", tree);
const commit = commitOf(treeId);
const commitId = objectId("commit", commit);
const missingId = "1".repeat(40);
const complete: PackEntry[] = [
  { type: "commit", data: commit },
  { type: "tree", data: tree },
  { type: "blob", data: blob },
];
const head = [`${commitId} HEAD symref-target:refs/heads/main`, `${commitId} refs/heads/main`];

const serve =
  (repository: (fixture: AttackFixture) => HostileRepository) =>
  (fixture: AttackFixture, name: string): Target => {
    fixture.hostile.repositories.set(name, repository(fixture));
    return { url: `http://${fixture.hostile.host}/${name}/repository.git` };
  };

const withPack = (name: string, pack: () => Buffer, expected: RegExp): Attack => ({
  name: `a pack ${name}`,
  remote: serve(() => ({ refs: head, pack: pack() })),
  expected: { clone: expected },
});

const withListing = (name: string, refs: string[], expected = /^done$/): Attack => ({
  name: `a listing ${name}`,
  remote: serve(() => ({ refs, pack: writePack(complete) })),
  expected: { clone: expected },
});

/** Replaces the response to one request. */
const withResponse = (
  name: string,
  step: "info" | "ls-refs" | "fetch",
  respond: (response: ServerResponse, fixture: AttackFixture) => void,
  expected: RegExp,
): Attack => ({
  name,
  remote: serve((fixture) => ({
    refs: head,
    pack: writePack(complete),
    respond({ path, command, response }) {
      if (step === "info" ? !path.endsWith("/info/refs") : command !== step) return false;
      respond(response, fixture);
      return true;
    },
  })),
  expected: { clone: expected },
});

const failed = /Failed to fetch|is corrupt|could not be reached|does not exist|is empty/;
const large = 64 * 2 ** 10;

export const serverAttacks: Attack[] = [
  withPack("without an attack, which proves that the server works", () => writePack(complete), /^done$/),
  withPack("that is cut off", () => writePack(complete).subarray(0, -30), failed),
  withPack("with a wrong checksum", () => writePack(complete, { checksum: Buffer.alloc(20) }), failed),
  withPack("with fewer objects than it claims", () => writePack(complete, { count: 4 }), failed),
  withPack(
    "that claims billions of objects",
    () => writePack(complete, { count: 2 ** 32 - 1 }),
    /memory|Failed/,
  ),
  withPack(
    "that claims a hundred million objects",
    () => writePack(complete, { count: 10 ** 8 }),
    /more memory/,
  ),
  withPack("without the objects of its commit", () => writePack(complete.slice(0, 1)), failed),
  withPack(
    "with another file than its tree names",
    () => writePack([...complete.slice(0, 2), { type: "blob", data: Buffer.from("x") }]),
    failed,
  ),
  withPack("with an object of an unknown type", () => writePack([{ type: "reserved", data: blob }]), failed),
  withPack(
    "with an object that is larger than it claims",
    () => writePack([{ type: "blob", data: Buffer.alloc(2 ** 20), size: 10 }]),
    failed,
  ),
  withPack(
    "with garbage instead of a zlib stream",
    () => writePack([{ type: "blob", data: blob, stream: Buffer.alloc(1_000, 0xff) }]),
    failed,
  ),
  withPack(
    "with a delta whose base is missing",
    () => writePack([{ type: "refDelta", data: copyDelta(large, 1), base: missingId }]),
    failed,
  ),
  withPack(
    "with a delta that is based on itself",
    () => {
      const data = copyDelta(large, 1);
      return writePack([{ type: "refDelta", data, base: objectId("blob", data) }]);
    },
    failed,
  ),
  withPack(
    "with a delta that copies beyond its base",
    () => writePack([...complete, { type: "refDelta", data: copyDelta(blob.length, 1), base: blobId }]),
    failed,
  ),
  withPack(
    "with a commit that expands to 2 GiB",
    () => writePack([{ type: "commit", data: Buffer.alloc(0), size: 2 ** 31, stream: zeros(2 ** 31) }]),
    /more memory/,
  ),
  withPack(
    "with a tree that expands to 512 MiB",
    () => writePack([{ type: "tree", data: Buffer.alloc(0), size: 2 ** 29, stream: zeros(2 ** 29) }]),
    /more memory/,
  ),
  withPack(
    "with a delta that expands to 2 GiB",
    () => {
      const base = Buffer.alloc(large);
      return writePack([
        { type: "blob", data: base },
        { type: "refDelta", data: copyDelta(large, 2 ** 15), base: objectId("blob", base) },
      ]);
    },
    /more memory/,
  ),
  withPack(
    "with an object that claims a petabyte",
    () => writePack([{ type: "commit", data: commit, size: 2 ** 50 }]),
    /memory|Failed/,
  ),
  withPack("that is not a pack", () => Buffer.from("<html>not a pack</html>"), failed),
  withListing("with invalid names", [
    ...head,
    `${commitId} refs/heads/../../../../../../tmp/escaped`,
    `${commitId} refs/heads/a b`,
    `${commitId} refs/heads/.hidden`,
    `${commitId} refs/heads/x.lock`,
    `${commitId} --upload-pack=touch`,
    `${commitId} /etc/passwd`,
    `${commitId} refs/heads/`,
  ]),
  withListing("with line breaks in names", [
    ...head,
    `${commitId} refs/heads/a\n${missingId}\trefs/heads/main2`,
  ]),
  withListing(
    "with a default branch outside of refs",
    [`${commitId} HEAD symref-target:../../../config`, `${commitId} refs/heads/main`],
    /^done$|no default branch/,
  ),
  withListing(
    "with a default branch that is an option",
    [`${commitId} HEAD symref-target:--delete`, `${commitId} refs/heads/main`],
    /^done$|no default branch/,
  ),
  withListing(
    "with a folder and a branch of the same name",
    [...head, `${commitId} refs/heads/main/below`],
    failed,
  ),
  withListing(
    "with ids that are not ids",
    ["zzzz refs/heads/main", `${"0".repeat(40)} HEAD`],
    /no default branch|is empty|Failed|could not/,
  ),
  {
    name: "capabilities for bundles, promisors and filters",
    remote: serve(() => ({
      refs: head,
      pack: writePack(complete),
      capabilities: [
        "bundle-uri",
        "promisor-remote=name=x,url=ext::sh",
        "object-info",
        "session-id=../../x",
        "agent=\u001b[2J",
      ],
    })),
    expected: { clone: /^done$/ },
  },
  {
    name: "sections that refer to other servers and files",
    remote: serve(({ hostFolder }) => ({
      refs: head,
      pack: writePack(complete),
      sections: {
        "packfile-uris": [`${missingId} file://${hostFolder}/pack`, `${missingId} http://127.0.0.1:1/pack`],
      },
    })),
  },
  {
    name: "a pack that claims to be shallow",
    remote: serve(() => ({
      refs: head,
      pack: writePack(complete),
      sections: { "shallow-info": [`shallow ${commitId}`] },
    })),
  },
  withResponse(
    "an endless listing",
    "ls-refs",
    (response) => {
      response.writeHead(200, { "content-type": "application/x-git-upload-pack-result" });
      let count = 0;
      const send = () => {
        if (response.destroyed) return;
        const lines = Array.from({ length: 2_000 }, () =>
          packet(`${commitId} refs/heads/${"x".repeat(900)}${count++}\n`),
        );
        if (response.write(Buffer.concat(lines))) setImmediate(send);
        else response.once("drain", send);
      };
      send();
    },
    /more memory|could not be reached/,
  ),
  withResponse(
    "a pack behind megabytes of progress",
    "fetch",
    (response) => {
      response.writeHead(200, { "content-type": "application/x-git-upload-pack-result" });
      const progress = sideband(2, Buffer.from("\u001b[2J\r\u0007".repeat(2 ** 20)));
      response.end(
        Buffer.concat([
          packet("packfile\n"),
          progress,
          sideband(1, writePack(complete)),
          Buffer.from("0000"),
        ]),
      );
    },
    /^done$/,
  ),
  withResponse(
    "a redirect to a file",
    "info",
    (response, { hostFolder }) => {
      response.writeHead(302, { location: `file://${hostFolder}/../canary` }).end();
    },
    failed,
  ),
  withResponse(
    "an endless redirect",
    "info",
    (response, { hostile }) => {
      response
        .writeHead(302, {
          location: `http://${hostile.host}/x/${Math.random()}/info/refs?service=git-upload-pack`,
        })
        .end();
    },
    failed,
  ),
  withResponse(
    "a web page instead of a listing",
    "info",
    (response) => {
      response.writeHead(200, { "content-type": "text/html" }).end("<html></html>");
    },
    failed,
  ),
  withResponse(
    "a packet with a wrong length",
    "ls-refs",
    (response) => {
      response
        .writeHead(200, { "content-type": "application/x-git-upload-pack-result" })
        .end("ffffx0003zzzz");
    },
    failed,
  ),
  withResponse(
    "an error with escape sequences",
    "ls-refs",
    (response) => {
      response
        .writeHead(200, { "content-type": "application/x-git-upload-pack-result" })
        .end(packet("ERR \u001b]0;owned\u0007 sorry"));
    },
    /^\P{Cc}*$/u,
  ),
  {
    name: "the old protocol with alternates on other servers and files",
    remote: serve(({ hostFolder }) => ({
      refs: [],
      respond({ path, response }) {
        const contents: Record<string, string> = {
          "/info/refs": `${commitId}\trefs/heads/main\n`,
          "/HEAD": "ref: refs/heads/main\n",
          "/objects/info/http-alternates": `file://${hostFolder}\nhttp://127.0.0.1:1/x\n`,
          "/objects/info/alternates": `${hostFolder}\n/etc\n`,
          "/objects/info/packs": "P ../../../../tmp/escaped.pack\nP pack-zz.pack\n",
        };
        const name = Object.keys(contents).find((end) => path.endsWith(end));
        response
          .writeHead(name ? 200 : 404, { "content-type": "text/plain" })
          .end(name ? contents[name] : "");
        return true;
      },
    })),
    expected: { clone: failed },
  },
];
