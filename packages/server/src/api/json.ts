import { cut } from "@outrider/contract/fault";
import { badMember, Refusal } from "../engine/refusal.ts";
import { requireUniqueMembers } from "./members.ts";
import { callersModesty, type Modesty, requireModest } from "./modest.ts";

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });

/** A body as JSON, without anything that the database, or a later reader, could not keep as it was sent. */
export function readJson(body: Buffer, modesty: Modesty = callersModesty): unknown {
  let text: string;
  try {
    text = decoder.decode(body);
  } catch {
    throw new Refusal("invalid_request", "The body is not valid UTF-8.");
  }
  requireModest(text, modesty);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new Refusal("invalid_request", `The body is not valid JSON${placeIn(error)}.`);
  }
  requireKeepable(value);
  requireUniqueMembers(text);
  return value;
}

/** Only the place: the parser's own words quote the body. */
function placeIn(error: unknown): string {
  const place = /at position \d+( \(line \d+ column \d+\))?/.exec(String(error));
  return place ? ` (${place[0]})` : "";
}

/** Walks without recursion, so that a deep body cannot end the stack. */
function requireKeepable(root: unknown) {
  const rest: { value: unknown; pointer: string }[] = [{ value: root, pointer: "" }];
  for (let item = rest.pop(); item; item = rest.pop()) {
    const { value, pointer } = item;
    if (typeof value === "string") requireKeepableText(value, pointer);
    else if (typeof value === "number" && !Number.isFinite(value))
      throw badMember(pointer, "is too large a number");
    else if (typeof value === "object" && value !== null) {
      for (const [key, inner] of Object.entries(value)) {
        const place = `${pointer}/${cut(key).replaceAll("~", "~0").replaceAll("/", "~1")}`;
        if (!Array.isArray(value)) {
          requireKeepableText(key, pointer);
          if (key === "__proto__") throw badMember(pointer, "must not hold a member `__proto__`");
        }
        rest.push({ value: inner, pointer: place });
      }
    }
  }
}

export function requireKeepableText(text: string, pointer: string) {
  if (text.includes("\0")) throw badMember(pointer, "holds a NUL character");
  if (!text.isWellFormed()) throw badMember(pointer, "holds half a surrogate pair");
}
