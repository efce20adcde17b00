import { editDistance } from "@outrider/contract/errors/edit-distance";
import { z } from "zod";
import { MAX_IMAGE_BYTES } from "../supported-images.ts";
import type { ProbeResult, Workspace } from "../workspace.ts";
import { expandHome } from "./expand-home.ts";
import { escapeRegExp } from "./glob.ts";
import { displayPath, listFilesScript, normalizePath } from "./list-files-script.ts";
import { defineTool, loadDescription, path, type ToolResult } from "./tool.ts";

const MAX_LINES = 2000;
const MAX_PAGE_BYTES = 60 * 1024;
const MAX_LINE_CHARACTERS = 2000;
const MAX_FOLDER_ENTRIES = 500;
/** More than that many entries with the longest names. */
const FOLDER_BYTES = 256 * 1024;
/**
 * The number of bytes to read per line and in total. The total covers several pages, so that truncated lines do not
 * leave a page empty.
 */
const LINE_BYTES = 4 * MAX_LINE_CHARACTERS + 4;
const READ_BYTES = 6 * MAX_PAGE_BYTES;
/** Lines in larger files are not counted, because that would require reading the whole file. */
const MAX_COUNTED_BYTES = 64 * 1024 * 1024;

/** The first line of the script's output names the file's kind. */
const script = `${listFilesScript}
rg=$5
if [ -d "$1" ]; then
  printf "folder\\n"
  find -H "$1" -mindepth 1 -maxdepth 1 -print0 | sort -z | xargs -0 -r sh -c '
    for entry; do
      if [ -L "$entry" ]; then type=l; elif [ -d "$entry" ]; then type=d; else type=f; fi
      printf "%s %s\\0" "$type" "\${entry##*/}"
    done' sh 2> /dev/null | head -c ${FOLDER_BYTES}
  exit 0
fi
if [ -L "$1" ] && [ ! -e "$1" ]; then printf "link\\n%s\\0" "$(readlink "$1")"; exit; fi
if [ ! -e "$1" ]; then
  printf "missing\\n"
  folder=$1
  while [ "\${folder%/*}" != "$folder" ] && [ ! -d "$folder" ]; do folder=\${folder%/*}; done
  list . | grep -zxE -e "$4"
  find -H "\${folder:-/}" -mindepth 1 -maxdepth 1 -print0 | head -c ${FOLDER_BYTES}
  exit 0
fi
[ -f "$1" ] || { printf "special\\n"; exit; }
[ -r "$1" ] || { printf "unreadable\\n"; exit; }
size=$(stat -Lc %s "$1")
case $(head -c 12 < "$1" | od -An -v -tx1 | tr -d " \\n") in
  89504e470d0a1a0a*) type=image/png ;;
  ffd8ff*) type=image/jpeg ;;
  474946383[79]61*) type=image/gif ;;
  52494646????????57454250) type=image/webp ;;
  *) type= ;;
esac
if [ "$type" ]; then
  printf "image %s %s\\n" "$size" "$type"
  if [ "$size" -le ${MAX_IMAGE_BYTES} ]; then cat < "$1"; fi
  exit
fi
if [ "$(head -c 8192 < "$1" | wc -c)" != "$(head -c 8192 < "$1" | tr -d "\\0" | wc -c)" ]; then
  printf "binary %s\\n" "$size"
  exit
fi
lines=
if [ "$size" -le ${MAX_COUNTED_BYTES} ]; then lines=$(awk 'END { print NR }' < "$1"); fi
printf "text %s %s\\n" "$size" "$lines"
tail -n "+$2" < "$1" | head -n "$3" | cut -b "-${LINE_BYTES}" | head -c ${READ_BYTES}
exit 0
`;

export const readFile = defineTool({
  name: "read_file",
  description: loadDescription("read_file"),
  isReadOnly: true,
  input: z.object({
    path: path("Relative to the folder in which commands start, absolute, or starting with ~."),
    offset: z.int().min(1).optional().meta({ description: "The first line to read. Default 1." }),
    limit: z
      .int()
      .min(1)
      .max(MAX_LINES)
      .optional()
      .meta({ description: `The maximum number of lines to read. Default ${MAX_LINES}.` }),
  }),
  async run({ path, offset = 1, limit = MAX_LINES }, { workspace, signal }) {
    const normalized = normalizePath(expandHome(path, workspace));
    const sameName = `(.*/)?${escapeRegExp(normalized.split("/").at(-1) as string)}`;
    const args = [normalized, String(offset), String(limit), sameName, workspace.ripgrep];
    const probe = await workspace.probe(script, { args, limit: MAX_IMAGE_BYTES + 1024, signal });
    return toResult(path, { probe, offset, limit, workspace });
  },
});

interface ReadContext {
  probe: ProbeResult;
  offset: number;
  limit: number;
  workspace: Workspace;
}

function toResult(path: string, context: ReadContext): ToolResult {
  const { output, stderr } = context.probe;
  const end = output.indexOf(10);
  const [kind, size, detail] = output.toString("latin1", 0, Math.max(0, end)).split(" ");
  const content = output.subarray(end + 1);
  switch (kind) {
    case "folder":
      return { output: formatFolder(path, splitNames(content)) };
    case "missing":
      throw new Error(describeMissing(path, splitNames(content)));
    case "link":
      throw new Error(`${path} is a link to ${splitNames(content)[0]}, which does not exist.`);
    case "special":
      throw new Error(`${path} is neither a file nor a folder.`);
    case "unreadable":
      throw new Error(`Permission denied: ${path}.`);
    case "binary":
      return { output: `${path} is a binary file of ${size} bytes. Use a command to inspect it.` };
    case "image":
      return imageResult(path, { size: Number(size), mime_type: detail as string, data: content });
    case "text":
      return { output: formatPage(content, { ...context, total: detail ? Number(detail) : undefined }) };
    default:
      throw new Error(stderr.trim() || `${path} cannot be read.`);
  }
}

function splitNames(content: Buffer): string[] {
  return content.toString().split("\0").slice(0, -1);
}

function formatFolder(path: string, entries: string[]): string {
  const suffixes: Record<string, string> = { d: "/", l: "@" };
  const shown = entries
    .slice(0, MAX_FOLDER_ENTRIES)
    .map((entry) => entry.slice(2) + (suffixes[entry[0] ?? ""] ?? ""));
  const more = entries.length > MAX_FOLDER_ENTRIES ? "\n[more entries omitted]" : "";
  const head = shown.length === 0 ? `${path} is an empty folder.` : `${path} is a folder:`;
  return [head, ...shown].join("\n") + more;
}

function describeMissing(path: string, paths: string[]): string {
  const wanted = displayPath(normalizePath(path)).toLowerCase();
  const rated = [...new Set(paths.map(displayPath))].map((candidate) => {
    const isSame = candidate.split("/").at(-1)?.toLowerCase() === wanted.split("/").at(-1);
    return {
      candidate,
      edits: isSame ? 0 : editDistance(wanted.slice(-200), candidate.toLowerCase().slice(-200)),
    };
  });
  const near = rated
    .filter(({ edits }) => edits <= Math.max(2, wanted.length / 3))
    .sort((a, b) => a.edits - b.edits || (a.candidate < b.candidate ? -1 : 1))
    .slice(0, 5)
    .map(({ candidate }) => candidate);
  return `${path} does not exist.${near.length > 0 ? ` Similar paths: ${near.join(", ")}` : ""}`;
}

function imageResult(
  path: string,
  { size, mime_type, data }: { size: number; mime_type: string; data: Buffer },
) {
  const description = `${path} is an image (${mime_type}, ${size} bytes)`;
  if (size <= MAX_IMAGE_BYTES) return { output: `${description}.`, images: [{ mime_type, data }] };
  return {
    output: `${description}, too large to show: the limit is ${MAX_IMAGE_BYTES} bytes. Make a smaller copy.`,
  };
}

/** Formats numbered lines up to the page size, and adds the offset of the next page. */
function formatPage(content: Buffer, context: ReadContext & { total: number | undefined }): string {
  const { offset, limit, total, workspace } = context;
  const text = workspace.redact(content.toString().replace(/^\ufeff/, ""));
  const lines = text.endsWith("\n") ? text.slice(0, -1).split("\n") : text.split("\n");
  if (text === "") return total === 0 ? "[the file is empty]" : `[the file has ${total ?? "fewer"} lines]`;
  let out = "";
  let bytes = 0;
  let number = offset;
  for (const line of lines.slice(0, limit)) {
    const isTruncated = line.length > MAX_LINE_CHARACTERS;
    const shown = `${number}\t${isTruncated ? `${line.slice(0, MAX_LINE_CHARACTERS)} [… line truncated]` : line.replace(/\r$/, "")}\n`;
    bytes += Buffer.byteLength(shown);
    if (out !== "" && bytes > MAX_PAGE_BYTES) break;
    out += shown;
    number += 1;
  }
  const isLastPage =
    total === undefined ? lines.length < limit && number - offset === lines.length : number > total;
  if (isLastPage) return out;
  return `${out}[lines ${offset} to ${number - 1} of ${total ?? "many"}; continue with offset ${number}]`;
}
