import { z } from "zod";
import { isSupportedImage, MAX_IMAGE_BYTES } from "../../supported-images.ts";
import { TextSearch } from "../../text-search.ts";
import type { Image } from "../../tools/tool.ts";

type Fields = Record<string, unknown>;

const MAX_IMAGES = 10;
/** The number of content items that are read. */
const MAX_ITEMS = 1_000;
/**
 * The number of characters at the beginning and at the end of a text that are passed on. The model gets much less, so
 * that a secret in the text can be redacted before the text is shortened.
 */
const KEPT_CHARACTERS = 512 * 1024;
/** Structured content with more leaf values than this is not compared with the text. */
const MAX_LEAVES = 100;
/** The number of characters that are read to compare structured content with the text. */
const MAX_SEARCHED_CHARACTERS = 64 * 2 ** 20;

/** The result of a call, without the parts that the agent cannot use. Its text is not redacted yet. */
export interface ServerToolResult {
  text: string;
  images: Image[];
  isError: boolean;
}

const Resource = z.looseObject({
  uri: z.string(),
  mimeType: z.string().optional(),
  text: z.string().optional(),
  blob: z.string().optional(),
});

const Part = z.union([
  z.looseObject({ type: z.literal("text"), text: z.string() }),
  z.looseObject({ type: z.enum(["image", "audio"]), data: z.string(), mimeType: z.string() }),
  z.looseObject({ type: z.literal("resource"), resource: Resource }),
  z.looseObject({
    type: z.literal("resource_link"),
    uri: z.string(),
    name: z.string().optional(),
    description: z.string().optional(),
    mimeType: z.string().optional(),
  }),
]);

/** Reduces the result of `tools/call` to text and images. Content that cannot be shown is mentioned instead. */
export function reduceToolResult({
  content,
  structuredContent,
  toolResult,
  isError,
}: Fields): ServerToolResult {
  const images: Image[] = [];
  const items: unknown[] = Array.isArray(content) ? content : [];
  const texts = items.slice(0, MAX_ITEMS).map((item) => textOf(item, images));
  if (items.length > MAX_ITEMS) texts.push(`[${items.length - MAX_ITEMS} more items omitted]`);
  // `toolResult` comes from servers with the first version of the protocol.
  for (const value of [structuredContent, toolResult]) {
    if (value === undefined) continue;
    const json = JSON.stringify(value);
    if (!isInText(value, json, texts)) texts.push(json);
  }
  return { text: keepEnds(texts.join("\n")), images, isError: isError === true };
}

function textOf(value: unknown, images: Image[]): string {
  const { data: part } = Part.safeParse(value);
  switch (part?.type) {
    case "text":
      return part.text;
    case "image":
      return addImage({ data: part.data, mime_type: part.mimeType, name: "an image" }, images);
    case "audio":
      return `[audio of type ${part.mimeType}, ${bytesOf(part.data)} bytes: cannot be shown]`;
    case "resource": {
      const { uri, mimeType = "no type given", text, blob = "" } = part.resource;
      if (text !== undefined) return `[the resource ${uri}, ${mimeType}]\n${text}`;
      return addImage({ data: blob, mime_type: mimeType, name: `the resource ${uri}` }, images);
    }
    case "resource_link": {
      const { uri, name, mimeType, description } = part;
      return `[a link to the resource ${[uri, name, mimeType, description].filter(Boolean).join(", ")}]`;
    }
    default:
      return JSON.stringify(value) ?? "";
  }
}

/** Adds the image if its format and size are supported, and returns a description of it. */
function addImage(
  { data, mime_type, name }: { data: string; mime_type: string; name: string },
  images: Image[],
): string {
  const size = bytesOf(data);
  const description = `${name}, ${mime_type}, ${size} bytes`;
  if (!isSupportedImage(mime_type)) return `[${description}: cannot be shown]`;
  if (size > MAX_IMAGE_BYTES)
    return `[${description}: omitted because it is larger than ${MAX_IMAGE_BYTES} bytes]`;
  if (images.length === MAX_IMAGES)
    return `[${description}: omitted because there are more than ${MAX_IMAGES}]`;
  images.push({ mime_type, data: Buffer.from(data, "base64") });
  return `[${description}]`;
}

function bytesOf(base64: string): number {
  return Buffer.byteLength(base64, "base64");
}

/**
 * Returns whether the text already contains the structured content. The protocol asks servers to repeat structured
 * content as text, but many repeat only the relevant values.
 */
function isInText(value: unknown, json: string, texts: string[]): boolean {
  if (texts.some((text) => isSame(text, json))) return true;
  const allText = texts.join("\n");
  let count = 0;
  for (const leaf of leavesOf(value)) {
    count += 1;
    if (count > MAX_LEAVES || count * allText.length > MAX_SEARCHED_CHARACTERS) return false;
    // `includes` can take minutes for a hostile leaf, and nothing can interrupt it.
    if (new TextSearch(leaf).indexIn(allText) === -1) return false;
  }
  return allText !== "";
}

function isSame(text: string, json: string): boolean {
  // The text may contain white space, but not fewer characters.
  if (text.length < json.length) return false;
  try {
    return JSON.stringify(JSON.parse(text)) === json;
  } catch {
    return false;
  }
}

function* leavesOf(value: unknown): Generator<string> {
  if (typeof value !== "object" || value === null) yield String(value);
  else for (const inner of Object.values(value)) yield* leavesOf(inner);
}

function keepEnds(text: string): string {
  const omitted = text.length - 2 * KEPT_CHARACTERS;
  if (omitted <= 0) return text;
  const end = text.slice(-KEPT_CHARACTERS);
  return `${text.slice(0, KEPT_CHARACTERS)}\n[… ${omitted} characters omitted …]\n${end}`;
}
