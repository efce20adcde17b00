import { distance } from "@outrider/contract/distance";
import { z } from "zod";
import type { Looked, Workspace } from "../workspace.ts";
import { escaped } from "./glob.ts";
import { listing, plainPath, shownPath } from "./listing.ts";
import { defineTool, described, located, path, type ToolResult } from "./tool.ts";

const PAGE_LINES = 2000;
const PAGE_BYTES = 60 * 1024;
const LINE_CHARACTERS = 2000;
const IMAGE_BYTES = 5 * 1024 * 1024;
const FOLDER_ENTRIES = 500;
/** A line is read as far as its characters may reach; several times a page, so that cut lines do not empty it. */
const LINE_BYTES = 4 * LINE_CHARACTERS + 4;
const READ_BYTES = 6 * PAGE_BYTES;
/** Lines of longer files are not counted: that would mean to read them whole. */
const COUNTED_BYTES = 64 * 1024 * 1024;

/** The first line of the answer says what it is. */
const script = `${listing}
if [[ -d $1 ]]; then
  printf "folder\\n"
  find -H "$1" -mindepth 1 -maxdepth 1 -printf "%y %f\\0" | sort -z -k 1.3 | head -z -n ${FOLDER_ENTRIES + 1}
  exit
fi
if [[ -L $1 && ! -e $1 ]]; then printf "link\\n%s\\0" "$(readlink -- "$1")"; exit; fi
if [[ ! -e $1 ]]; then
  printf "missing\\n"
  folder=$1
  while [[ $folder == */* && ! -d $folder ]]; do folder=\${folder%/*}; done
  { find -H "\${folder:-/}" -mindepth 1 -maxdepth 1 -print0 | head -z -n 2000; list . | grep -zxE -e "$4" | head -z -n 20; }
  exit 0
fi
[[ -f $1 ]] || { printf "special\\n"; exit; }
[[ -r $1 ]] || { printf "unreadable\\n"; exit; }
size=$(stat -Lc %s -- "$1")
case $(head -c 12 < "$1" | od -An -v -tx1 | tr -d " \\n") in
  89504e470d0a1a0a*) type=image/png ;;
  ffd8ff*) type=image/jpeg ;;
  474946383[79]61*) type=image/gif ;;
  52494646????????57454250) type=image/webp ;;
  *) type= ;;
esac
if [[ $type ]]; then
  printf "image %s %s\\n" "$size" "$type"
  if ((size <= ${IMAGE_BYTES})); then cat < "$1"; fi
  exit
fi
if [[ $(head -c 8192 < "$1" | wc -c) != $(head -c 8192 < "$1" | tr -d "\\0" | wc -c) ]]; then
  printf "binary %s\\n" "$size"
  exit
fi
lines=
if ((size <= ${COUNTED_BYTES})); then lines=$(awk 'END { print NR }' < "$1"); fi
printf "text %s %s\\n" "$size" "$lines"
tail -n "+$2" < "$1" | head -n "$3" | cut -b "-${LINE_BYTES}" | head -c ${READ_BYTES}
exit 0
`;

export const readFile = defineTool({
  name: "read_file",
  description: described("read_file"),
  input: z.object({
    path: path("Relative to the workspace, or absolute, or from ~."),
    offset: z.int().min(1).optional().meta({ description: "The first line to read. Default 1." }),
    limit: z
      .int()
      .min(1)
      .max(PAGE_LINES)
      .optional()
      .meta({ description: `The most lines to read. Default ${PAGE_LINES}.` }),
  }),
  async run({ path, offset = 1, limit = PAGE_LINES }, { workspace, signal }) {
    const plain = plainPath(located(path, workspace));
    const sameName = `(.*/)?${escaped(plain.split("/").at(-1) as string)}`;
    const args = [plain, String(offset), String(limit), sameName];
    const looked = await workspace.look(script, { args, limit: IMAGE_BYTES + 1024, signal });
    return answer(path, { looked, offset, limit, workspace });
  },
});

interface Reading {
  looked: Looked;
  offset: number;
  limit: number;
  workspace: Workspace;
}

function answer(path: string, reading: Reading): ToolResult {
  const { output, complaint } = reading.looked;
  const end = output.indexOf(10);
  const [kind, size, detail] = output.toString("latin1", 0, Math.max(0, end)).split(" ");
  const content = output.subarray(end + 1);
  switch (kind) {
    case "folder":
      return { output: reading.workspace.redacted(folder(path, names(content))) };
    case "missing":
      throw new Error(reading.workspace.redacted(missing(path, names(content))));
    case "link":
      throw new Error(`${path} is a link to ${names(content)[0]}, which does not exist.`);
    case "special":
      throw new Error(`${path} is neither a file nor a folder.`);
    case "unreadable":
      throw new Error(`${path} may not be read.`);
    case "binary":
      return { output: `${path} is a binary file of ${size} bytes. Use a command to look into it.` };
    case "image":
      return image(path, { size: Number(size), mime_type: detail as string, data: content });
    case "text":
      return { output: page(content, { ...reading, total: detail ? Number(detail) : undefined }) };
    default:
      throw new Error(complaint.trim() || `${path} cannot be read.`);
  }
}

function names(content: Buffer): string[] {
  return content.toString().split("\0").slice(0, -1);
}

function folder(path: string, entries: string[]): string {
  const marks: Record<string, string> = { d: "/", l: "@" };
  const shown = entries
    .slice(0, FOLDER_ENTRIES)
    .map((entry) => entry.slice(2) + (marks[entry[0] ?? ""] ?? ""));
  const more = entries.length > FOLDER_ENTRIES ? "\n[there are more]" : "";
  const head = shown.length === 0 ? `${path} is an empty folder.` : `${path} is a folder:`;
  return [head, ...shown].join("\n") + more;
}

function missing(path: string, paths: string[]): string {
  const wanted = shownPath(plainPath(path)).toLowerCase();
  const rated = [...new Set(paths.map(shownPath))].map((each) => {
    const isSame = each.split("/").at(-1)?.toLowerCase() === wanted.split("/").at(-1);
    return { each, steps: isSame ? 0 : distance(wanted.slice(-200), each.toLowerCase().slice(-200)) };
  });
  const near = rated
    .filter(({ steps }) => steps <= Math.max(2, wanted.length / 3))
    .sort((a, b) => a.steps - b.steps || (a.each < b.each ? -1 : 1))
    .slice(0, 5)
    .map(({ each }) => each);
  return `${path} does not exist.${near.length > 0 ? ` There is: ${near.join(", ")}` : ""}`;
}

function image(path: string, { size, mime_type, data }: { size: number; mime_type: string; data: Buffer }) {
  const said = `${path} is an image (${mime_type}, ${size} bytes)`;
  if (size <= IMAGE_BYTES) return { output: `${said}.`, images: [{ mime_type, data }] };
  return { output: `${said}, too large to be shown: the most is ${IMAGE_BYTES} bytes. Make a smaller copy.` };
}

/** Lines with their numbers, as many as a page holds, and where to go on. */
function page(content: Buffer, reading: Reading & { total: number | undefined }): string {
  const { offset, limit, total, workspace } = reading;
  const text = workspace.redacted(content.toString().replace(/^\ufeff/, ""));
  const lines = text.endsWith("\n") ? text.slice(0, -1).split("\n") : text.split("\n");
  if (text === "") return total === 0 ? "[the file is empty]" : `[the file has ${total ?? "fewer"} lines]`;
  let out = "";
  let bytes = 0;
  let number = offset;
  for (const line of lines.slice(0, limit)) {
    const isCut = line.length > LINE_CHARACTERS;
    const shown = `${number}\t${isCut ? `${line.slice(0, LINE_CHARACTERS)} [… line cut]` : line.replace(/\r$/, "")}\n`;
    bytes += Buffer.byteLength(shown);
    if (out !== "" && bytes > PAGE_BYTES) break;
    out += shown;
    number += 1;
  }
  const isWhole =
    total === undefined ? lines.length < limit && number - offset === lines.length : number > total;
  if (isWhole) return out;
  return `${out}[lines ${offset} to ${number - 1} of ${total ?? "many"}; go on with offset ${number}]`;
}
