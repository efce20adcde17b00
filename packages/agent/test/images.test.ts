import { describe, expect, it, onTestFinished } from "vitest";
import { Conversation } from "../src/conversation.ts";
import { openModel } from "../src/models/open.ts";
import type { Prompt } from "../src/models/provider.ts";
import { Pictures } from "../src/pictures.ts";
import { builtinTools } from "../src/tools/builtin.ts";
import type { Tool } from "../src/tools/tool.ts";
import { answering, call, finish, words } from "./answers.ts";
import { creator, newRun, type TestRun } from "./run.ts";
import { startStubModel } from "./stub-model/server.ts";

const png = (size: number, first = 1) => new Uint8Array(size).fill(first);
const facts = { context_tokens: 200_000, sees_images: true };

function attach(run: TestRun, name: string, data: Uint8Array, mime_type = "image/png") {
  const attachment_id = `attachment-${run.attachments.size + 1}`;
  run.attachments.set(attachment_id, data);
  return { attachment_id, file_name: name, mime_type, size_bytes: data.byteLength };
}

/** The run as it is created with these files. */
function sendWithPrompt(run: TestRun, ...attachments: ReturnType<typeof attach>[]) {
  const data = { title: "Look", prompt: "Look.", source: "API", creator, attachments } as const;
  run.log[0] = { type: "run.created", data: { ...data, attachments }, seq: 1 };
}

const ending = () => answering(() => [...words("Seen."), finish()]);
const imagesIn = (prompt: Prompt | undefined) =>
  (prompt ?? []).flatMap(({ content }) =>
    Array.isArray(content) ? content.filter((part) => part.type === "file") : [],
  );

describe("files that come with a message", () => {
  it("are named by their paths, and images are shown to a model that can see", async () => {
    const run = await ending();
    sendWithPrompt(run, attach(run, "shot.png", png(10)), attach(run, "log.txt", png(3), "text/plain"));
    await run.turn();
    const [, message] = run.prompts[0] as Prompt;
    expect(message).toMatchObject({
      role: "user",
      content: [
        { type: "text", text: expect.stringMatching(/^Look\.\n\nFiles that came with this message:\n/) },
        { type: "file", mediaType: "image/png", data: { type: "data", data: png(10) } },
      ],
    });
    const text = JSON.stringify(message);
    expect(text).toContain("- ~/attachments/shot.png (image/png, 10 bytes)");
    expect(text).toContain("- ~/attachments/log.txt (text/plain, 3 bytes)");
  });

  it("of the same name have paths of their own, over all messages", async () => {
    const run = await ending();
    sendWithPrompt(run, attach(run, "a.png", png(1)));
    const data = { text: "This too.", followup_id: "1", mode: "auto" as const };
    run.write({ type: "message.user", data: { ...data, attachments: [attach(run, "a.png", png(2))] } });
    await run.turn();
    expect(JSON.stringify(run.prompts[0])).toContain("~/attachments/a-2.png");
    expect(imagesIn(run.prompts[0])).toHaveLength(2);
  });

  it("reach the turn with a message that is taken while it works", async () => {
    const run = await ending();
    const followup = { followup_id: "1", message: "See.", mode: "auto" as const };
    const waiting = [{ ...followup, attachments: [attach(run, "a.png", png(2))] }];
    await run.turn({ takeMessages: async () => waiting.splice(0) });
    expect(imagesIn(run.prompts[0])).toHaveLength(1);
  });

  it.each([
    ["to a model that cannot see", png(10), "image/png", false, "this model cannot see images"],
    ["when they are too large", png(5 * 1024 * 1024 + 1), "image/png", true, "more than 5 MiB"],
    ["in a form that models do not take", png(10), "image/svg+xml", true, "image/svg+xml cannot be shown"],
  ])("are not shown %s, which is said", async (_, data, type, sees_images, reason) => {
    const run = await ending();
    sendWithPrompt(run, attach(run, "a.png", data, type));
    await run.turn({ model_facts: { ...facts, sees_images } });
    expect(imagesIn(run.prompts[0])).toEqual([]);
    expect(JSON.stringify(run.prompts[0])).toContain(reason);
    expect(JSON.stringify(run.prompts[0])).toContain("~/attachments/a.png");
  });

  it("that cannot be read do not end the turn", async () => {
    const run = await ending();
    const file = attach(run, "a.png", png(1));
    run.attachments.delete(file.attachment_id);
    sendWithPrompt(run, file);
    expect(await run.turn()).toMatchObject({ type: "succeeded" });
    expect(JSON.stringify(run.prompts[0])).toContain("could not be read");
  });
});

/** A tool that returns so many images. */
function camera(count: number, size = 10): Tool {
  let taken = 0;
  return {
    name: "camera",
    description: "Takes pictures.",
    input: { jsonSchema: { type: "object" } },
    async run() {
      const images = Array.from({ length: count }, () => {
        taken += 1;
        return { mime_type: "image/png", data: png(size, taken) };
      });
      return { output: "Click.", images };
    },
  };
}

const shooting = (calls: number) =>
  answering((_, number) => [
    ...(number > calls ? words("Seen.") : [call("camera", {})]),
    finish({ input: 0 }),
  ]);

const results = (prompt: Prompt | undefined) =>
  (prompt ?? []).flatMap((message) => (message.role === "tool" ? message.content : []));

describe("images that a tool returns", () => {
  it("are kept as artifacts, and shown with its result", async () => {
    const run = await shooting(1);
    await run.turn({ tools: [camera(1)] });
    expect(run.all("tool.returned")[0]?.images).toEqual([
      { artifact_id: "artifact-1", mime_type: "image/png" },
    ]);
    expect(results(run.prompts[1])).toMatchObject([
      {
        output: {
          type: "content",
          value: [
            { type: "text", text: "Click." },
            { type: "file", mediaType: "image/png", data: { type: "data", data: png(10, 1) } },
          ],
        },
      },
    ]);
  });

  it("are shown again after a recovery, the same, wherever the log was cut off", async () => {
    const run = await shooting(3);
    await run.turn({ tools: [camera(2)] });
    for (const [index, prompt] of run.prompts.entries()) {
      const cut = run.log.findIndex(({ type, data }) => type === "usage.updated" && data.steps === index + 1);
      const again = await ending();
      again.log.splice(0, again.log.length, ...run.log.slice(0, cut));
      for (const [id, file] of run.kept) again.kept.set(id, file);
      await again.turn({ tools: [camera(2)] });
      expect(again.prompts[0]).toEqual(prompt);
    }
  });

  it("give way to newer ones, several at once, which is said", async () => {
    const run = await shooting(23);
    await run.turn({ tools: [camera(1)] });
    const shown = run.prompts.map((prompt) => JSON.stringify(results(prompt)).match(/"file"/g)?.length ?? 0);
    expect(shown.slice(18)).toEqual([18, 19, 20, 11, 12, 13]);
    expect(JSON.stringify(run.prompts.at(-1))).toContain("newer ones have taken its place");
  });

  it("are read once, and only so many bytes of them are held", async () => {
    let reads = 0;
    const files = {
      keep: async () => "",
      attachment: async () => png(1),
      artifact: async () => {
        reads += 1;
        return png(4 * 1024 * 1024);
      },
    };
    const pictures = new Pictures({ files, seesImages: true });
    const images = Array.from({ length: 8 }, (_, index) => ({
      id: `${index}`,
      of: "artifact" as const,
      mime_type: "image/png",
    }));
    const shown = await pictures.show(images);
    expect([...shown.values()].filter((one) => typeof one !== "string")).toHaveLength(5);
    expect(shown.get("7")).not.toBeTypeOf("string");
    await pictures.show(images);
    expect(reads).toBe(5);
  });

  it("are left out with their old outputs, and the conversation says so", async () => {
    const run = await shooting(6);
    await run.turn({ tools: [camera(2)], model_facts: { ...facts, context_tokens: 18_000 } });
    expect(run.all("compacted")).not.toEqual([]);
    expect(new Conversation(run.log).images.length).toBeLessThan(12);
  });
});

describe("an image", () => {
  it.each(["anthropic", "chat", "responses", "gemini"] as const)(
    "reaches a provider that speaks %s over HTTP, from a message and from a tool",
    async (dialect) => {
      const stub = await startStubModel();
      onTestFinished(() => stub.close());
      const provider = {
        anthropic: "anthropic",
        chat: "openai-compatible",
        responses: "openai",
        gemini: "google",
      } as const;
      const run = await newRun("Look.");
      run.model = openModel({
        model_id: "stub",
        provider: provider[dialect],
        name: "stub",
        base_url: stub.baseUrl(dialect),
        api_key: "key",
        ...facts,
      });
      const data = new TextEncoder().encode("\x89PNG\r\n\x1a\n and so on");
      sendWithPrompt(run, attach(run, "a.png", data));
      (run.log[0] as { data: { prompt: string } }).data.prompt = "CALL: camera {}";
      await run.turn({ tools: [...builtinTools, camera(1, 30)] });
      expect(JSON.stringify(stub.requests[0]?.body)).toContain(Buffer.from(data).toString("base64"));
      expect(JSON.stringify(stub.last.body)).toContain(Buffer.from(png(30, 1)).toString("base64"));
    },
  );
});
