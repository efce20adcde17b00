import { describe, expect, it, onTestFinished } from "vitest";
import { Conversation } from "../src/conversation/conversation.ts";
import { ConversationImages } from "../src/conversation/images.ts";
import { openModel } from "../src/models/open-model.ts";
import type { Prompt } from "../src/models/provider.ts";
import { builtinTools } from "../src/tools/builtin.ts";
import type { Tool } from "../src/tools/tool.ts";
import { call, finish, runWithModel, words } from "./answers.ts";
import { creator, newRun, type TestRun } from "./run.ts";
import { startStubModel } from "./stub-model/server.ts";

const png = (size: number, first = 1) => new Uint8Array(size).fill(first);
const facts = { context_tokens: 200_000, supports_images: true };

function attach(run: TestRun, name: string, data: Uint8Array, mime_type = "image/png") {
  const attachment_id = `attachment-${run.attachments.size + 1}`;
  run.attachments.set(attachment_id, data);
  return { attachment_id, file_name: name, mime_type, size_bytes: data.byteLength };
}

/** Replaces the run's first event by one with these files. */
function sendWithPrompt(run: TestRun, ...attachments: ReturnType<typeof attach>[]) {
  const data = { title: "Look", prompt: "Look.", source: "API", creator, attachments } as const;
  run.log[0] = { type: "run.created", data: { ...data, attachments }, seq: 1 };
}

const endAtOnce = () => runWithModel(() => [...words("Seen."), finish()]);
const imagesIn = (prompt: Prompt | undefined) =>
  (prompt ?? []).flatMap(({ content }) =>
    Array.isArray(content) ? content.filter((part) => part.type === "file") : [],
  );

describe("files attached to a message", () => {
  it("are listed by path, and images are shown to vision models", async () => {
    const run = await endAtOnce();
    sendWithPrompt(run, attach(run, "shot.png", png(10)), attach(run, "log.txt", png(3), "text/plain"));
    await run.turn();
    const [, message] = run.prompts[0] as Prompt;
    expect(message).toMatchObject({
      role: "user",
      content: [
        { type: "text", text: expect.stringMatching(/^Look\.\n\nFiles attached to this message:\n/) },
        { type: "file", mediaType: "image/png", data: { type: "data", data: png(10) } },
      ],
    });
    const text = JSON.stringify(message);
    expect(text).toContain("- ~/attachments/shot.png (image/png, 10 bytes)");
    expect(text).toContain("- ~/attachments/log.txt (text/plain, 3 bytes)");
  });

  it("with the same name get distinct paths across messages", async () => {
    const run = await endAtOnce();
    sendWithPrompt(run, attach(run, "a.png", png(1)));
    const data = { text: "This too.", followup_id: "1", mode: "auto" as const };
    run.write({ type: "message.user", data: { ...data, attachments: [attach(run, "a.png", png(2))] } });
    await run.turn();
    expect(JSON.stringify(run.prompts[0])).toContain("~/attachments/a-2.png");
    expect(imagesIn(run.prompts[0])).toHaveLength(2);
  });

  it("reach a running turn with their message", async () => {
    const run = await endAtOnce();
    const followup = { followup_id: "1", message: "See.", mode: "auto" as const };
    const waiting = [{ ...followup, attachments: [attach(run, "a.png", png(2))] }];
    await run.turn({ takeMessages: async () => waiting.splice(0) });
    expect(imagesIn(run.prompts[0])).toHaveLength(1);
  });

  it.each([
    ["to a model without vision", png(10), "image/png", false, "this model cannot see images"],
    ["if they are too large", png(5 * 1024 * 1024 + 1), "image/png", true, "more than 5 MiB"],
    ["in an unsupported format", png(10), "image/svg+xml", true, "image/svg+xml is not supported"],
  ])("are not shown %s, with a reason", async (_, data, type, supports_images, reason) => {
    const run = await endAtOnce();
    sendWithPrompt(run, attach(run, "a.png", data, type));
    await run.turn({ model_facts: { ...facts, supports_images } });
    expect(imagesIn(run.prompts[0])).toEqual([]);
    expect(JSON.stringify(run.prompts[0])).toContain(reason);
    expect(JSON.stringify(run.prompts[0])).toContain("~/attachments/a.png");
  });

  it("that are unreadable do not end the turn", async () => {
    const run = await endAtOnce();
    const file = attach(run, "a.png", png(1));
    run.attachments.delete(file.attachment_id);
    sendWithPrompt(run, file);
    expect(await run.turn()).toMatchObject({ type: "succeeded" });
    expect(JSON.stringify(run.prompts[0])).toContain("could not be read");
  });
});

/** A tool that returns the given number of images. */
function camera(count: number, size = 10): Tool {
  let taken = 0;
  return {
    name: "camera",
    description: "Takes loader.",
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

const runWithImages = (calls: number) =>
  runWithModel((_, number) => [
    ...(number > calls ? words("Seen.") : [call("camera", {})]),
    finish({ input: 0 }),
  ]);

const results = (prompt: Prompt | undefined) =>
  (prompt ?? []).flatMap((message) => (message.role === "tool" ? message.content : []));

describe("images that a tool returns", () => {
  it("are stored as artifacts and shown with its result", async () => {
    const run = await runWithImages(1);
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

  it("are shown again identically after a crash at any event", async () => {
    const run = await runWithImages(3);
    await run.turn({ tools: [camera(2)] });
    for (const [index, prompt] of run.prompts.entries()) {
      const cut = run.log.findIndex(({ type, data }) => type === "usage.updated" && data.steps === index + 1);
      const again = await endAtOnce();
      again.log.splice(0, again.log.length, ...run.log.slice(0, cut));
      for (const [id, file] of run.stored) again.stored.set(id, file);
      await again.turn({ tools: [camera(2)] });
      expect(again.prompts[0]).toEqual(prompt);
    }
  });

  it("are replaced by newer ones in batches, with a reason", async () => {
    const run = await runWithImages(23);
    await run.turn({ tools: [camera(1)] });
    const shown = run.prompts.map((prompt) => JSON.stringify(results(prompt)).match(/"file"/g)?.length ?? 0);
    expect(shown.slice(18)).toEqual([18, 19, 20, 11, 12, 13]);
    expect(JSON.stringify(run.prompts.at(-1))).toContain("newer images replaced it");
  });

  it("are read once and limited in total size", async () => {
    let reads = 0;
    const files = {
      storeArtifact: async () => "",
      readAttachment: async () => png(1),
      readArtifact: async () => {
        reads += 1;
        return png(4 * 1024 * 1024);
      },
    };
    const loader = new ConversationImages({ files, supportsImages: true });
    const images = Array.from({ length: 8 }, (_, index) => ({
      id: `${index}`,
      source: "artifact" as const,
      mime_type: "image/png",
    }));
    const shown = await loader.load(images);
    expect([...shown.values()].filter((one) => typeof one !== "string")).toHaveLength(5);
    expect(shown.get("7")).not.toBeTypeOf("string");
    await loader.load(images);
    expect(reads).toBe(5);
  });

  it("are removed together with old outputs", async () => {
    const run = await runWithImages(6);
    await run.turn({ tools: [camera(2)], model_facts: { ...facts, context_tokens: 18_000 } });
    expect(run.all("compacted")).not.toEqual([]);
    expect(new Conversation(run.log).images.length).toBeLessThan(12);
  });
});

describe("an image", () => {
  it.each(["anthropic", "chat", "responses", "gemini"] as const)(
    "reaches the %s API from a message and from a tool",
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
      run.model = await openModel({
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
