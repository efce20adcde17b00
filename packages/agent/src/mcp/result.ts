import type { CallToolResult } from "@ai-sdk/mcp";
import { z } from "zod";
import { ends } from "../output.ts";
import type { Image, ToolResult } from "../tools/tool.ts";

const IMAGE_BYTES = 5 * 1024 * 1024;
const IMAGES = 10;
/** Of data that is longer, nobody looks whether a text says it too. */
const LEAVES = 100;
const SHOWN_TYPES = ["image/png", "image/jpeg", "image/gif", "image/webp"];

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

/** What a server returned, as the model reads it. Whatever cannot be shown is at least named. */
export function toolResult(returned: CallToolResult, clean: (text: string) => string): ToolResult {
  const images: Image[] = [];
  const content = Array.isArray(returned.content) ? (returned.content as unknown[]) : [];
  const texts = content.map((part) => textOf(part, images));
  const { structuredContent, toolResult: older } = returned as Record<string, unknown>;
  for (const value of [structuredContent, older]) {
    if (value !== undefined && !isTold(value, texts)) texts.push(JSON.stringify(value));
  }
  const text = texts.join("\n");
  return {
    output: ends(clean(text === "" ? "It returned nothing." : text)),
    ...(returned.isError === true ? { is_error: true as const } : {}),
    ...(images.length > 0 ? { images } : {}),
  };
}

function textOf(value: unknown, images: Image[]): string {
  const { data: part } = Part.safeParse(value);
  switch (part?.type) {
    case "text":
      return part.text;
    case "image":
      return shown({ data: part.data, mime_type: part.mimeType, name: "an image" }, images);
    case "audio":
      return `[audio of type ${part.mimeType}, ${bytesOf(part.data)} bytes: cannot be shown]`;
    case "resource": {
      const { uri, mimeType = "no type given", text, blob = "" } = part.resource;
      if (text !== undefined) return `[the resource ${uri}, ${mimeType}]\n${text}`;
      return shown({ data: blob, mime_type: mimeType, name: `the resource ${uri}` }, images);
    }
    case "resource_link": {
      const { uri, name, mimeType, description } = part;
      return `[a link to the resource ${[uri, name, mimeType, description].filter(Boolean).join(", ")}]`;
    }
    default:
      return JSON.stringify(value) ?? "";
  }
}

/** Takes the image along where a model could see it. */
function shown(
  { data, mime_type, name }: { data: string; mime_type: string; name: string },
  images: Image[],
): string {
  const size = bytesOf(data);
  const told = `${name}, ${mime_type}, ${size} bytes`;
  if (!SHOWN_TYPES.includes(mime_type)) return `[${told}: cannot be shown]`;
  if (size > IMAGE_BYTES) return `[${told}: left out, for it is larger than ${IMAGE_BYTES} bytes]`;
  if (images.length === IMAGES) return `[${told}: left out, for there are more than ${IMAGES}]`;
  images.push({ mime_type, data: Buffer.from(data, "base64") });
  return `[${told}]`;
}

function bytesOf(base64: string): number {
  return Buffer.byteLength(base64, "base64");
}

/** Servers are asked to write what they return as data into a text as well; many write just what matters of it. */
function isTold(value: unknown, texts: string[]): boolean {
  if (texts.some((text) => isSame(text, value))) return true;
  const told = texts.join("\n");
  let count = 0;
  for (const leaf of leavesOf(value)) {
    count += 1;
    if (count > LEAVES || !told.includes(leaf)) return false;
  }
  return told !== "";
}

function isSame(text: string, value: unknown): boolean {
  try {
    return JSON.stringify(JSON.parse(text)) === JSON.stringify(value);
  } catch {
    return false;
  }
}

function* leavesOf(value: unknown): Generator<string> {
  if (typeof value !== "object" || value === null) yield String(value);
  else for (const inner of Object.values(value)) yield* leavesOf(inner);
}
