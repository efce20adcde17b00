import { StringDecoder } from "node:string_decoder";

/** The most files of attributes that are looked at, and the largest of them. */
const ATTRIBUTE_FILES = 200;
const ATTRIBUTE_BYTES = 2 ** 20;

type Run = (args: string[], options?: { stdin?: string; onOutput?(data: Buffer): void }) => Promise<string>;

/** What a checkout of this commit will lack, in sentences. */
export async function noticesOf(run: Run, commit: string, url: string): Promise<string[]> {
  const { submodules, attributes } = await look(run, commit);
  const notices: string[] = [];
  if (submodules.length > 0) {
    const some = submodules.slice(0, 5).join(", ");
    const names = submodules.length > 5 ? `${some} and ${submodules.length - 5} more` : some;
    notices.push(`Submodules of ${url} are not checked out: ${names}.`);
  }
  if (await namesLfs(run, attributes)) {
    notices.push(`${url} keeps large files with Git LFS: they stay pointers in the checkout.`);
  }
  return notices;
}

/** A tree may have millions of entries, so they are read as they come. */
async function look(run: Run, commit: string): Promise<{ submodules: string[]; attributes: string[] }> {
  const decoder = new StringDecoder("utf8");
  const submodules: string[] = [];
  const attributes: string[] = [];
  let open = "";
  await run(["ls-tree", "-r", "-z", "--full-tree", commit], {
    onOutput(data) {
      const entries = (open + decoder.write(data)).split("\0");
      open = entries.pop() ?? "";
      for (const entry of entries) {
        const path = entry.slice(entry.indexOf("\t") + 1);
        if (entry.startsWith("160000 ")) submodules.push(path.replaceAll(/\p{Cc}/gu, "?").slice(0, 200));
        else if (/(?:^|\/)\.gitattributes$/.test(path) && attributes.length < ATTRIBUTE_FILES) {
          attributes.push(entry.split(/[ \t]/)[2] ?? "");
        }
      }
    },
  });
  return { submodules, attributes };
}

async function namesLfs(run: Run, objects: string[]): Promise<boolean> {
  if (objects.length === 0) return false;
  const sizes = await run(["cat-file", "--batch-check=%(objectname) %(objecttype) %(objectsize)"], {
    stdin: `${objects.join("\n")}\n`,
  });
  const small = sizes.split("\n").flatMap((line) => {
    const [object = "", type, size] = line.split(" ");
    return type === "blob" && Number(size) <= ATTRIBUTE_BYTES ? [object] : [];
  });
  const content = await run(["cat-file", "--batch"], {
    stdin: small.map((object) => `${object}\n`).join(""),
  });
  return /^[^#\n]*\sfilter=lfs(?:\s|$)/m.test(content);
}
