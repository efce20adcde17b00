import { randomUUID } from "node:crypto";
import type { LogEvent } from "@outrider/agent/event";
import type { SentFile } from "@outrider/contract/event";
import { describe, expect, test } from "vitest";
import { UserPrompts } from "../../src/harnesses/acp/user-prompt.ts";

const megabyte = 2 ** 20;

function attachment(file_name: string, mime_type: string, size_bytes = 3): SentFile {
  return { attachment_id: randomUUID(), file_name, mime_type, size_bytes };
}

const created = (attachments: SentFile[]) =>
  ({ type: "run.created", data: { prompt: "Begin.", attachments } }) as unknown as LogEvent;

const files = { readAttachment: async () => Buffer.from("img") };

describe("the prompt for a message", () => {
  test("is its text alone without attachments", async () => {
    const prompts = new UserPrompts({ takesImages: true });
    expect(await prompts.toPrompt({ text: "Hello." }, files)).toEqual([{ type: "text", text: "Hello." }]);
  });

  test("names the paths of attachments, counting those of earlier messages", async () => {
    const prompts = new UserPrompts({ takesImages: false });
    const first = attachment("plan.txt", "text/plain");
    prompts.readLog([created([first])]);
    const second = attachment("plan.txt", "text/plain", 12);
    const image = attachment("screen.png", "image/png");
    const prompt = await prompts.toPrompt({ text: "Look.", attachments: [second, image] }, files);
    expect(prompt).toEqual([
      {
        type: "text",
        text: `Look.

Files attached to this message:
- /home/sandbox/attachments/plan-2.txt (text/plain, 12 bytes)
- /home/sandbox/attachments/screen.png (image/png, 3 bytes)`,
      },
    ]);
    const [again] = await prompts.toPrompt({ text: "Begin.", attachments: [first] }, files);
    expect(again).toMatchObject({ text: expect.stringContaining("attachments/plan.txt (") });
  });

  test("contains the images that fit if the agent takes images", async () => {
    const prompts = new UserPrompts({ takesImages: true });
    const showImages = async (attachments: SentFile[], data = Buffer.from("img")) =>
      (await prompts.toPrompt({ text: "Look.", attachments }, { readAttachment: async () => data })).slice(1);
    const image = { type: "image", mimeType: "image/png", data: "aW1n" };
    const png = () => attachment("a.png", "image/png");
    expect(await showImages([png(), attachment("a.svg", "image/svg+xml"), png()])).toEqual([image, image]);
    expect(await showImages([attachment("big.png", "image/png", 6 * megabyte), png()])).toEqual([image]);
    expect(await showImages(Array.from({ length: 12 }, png))).toHaveLength(10);
    const large = () => attachment("large.png", "image/png", 4 * megabyte);
    expect(await showImages([large(), large(), large()], Buffer.alloc(4 * megabyte))).toHaveLength(2);
    const unreadable = { readAttachment: () => Promise.reject(new Error("deleted")) };
    expect(await prompts.toPrompt({ text: "Look.", attachments: [png()] }, unreadable)).toHaveLength(1);
  });
});
