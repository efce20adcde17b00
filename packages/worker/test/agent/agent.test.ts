import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { waitOptions } from "../../../../scripts/tests/wait-options.ts";
import { type StubModel, startStubModel } from "../../../agent/test/stub-model/server.ts";
import { startTestInstallation, type TestInstallation } from "../installation.ts";

let installation: TestInstallation;
let stub: StubModel;
const folder = mkdtempSync(join(tmpdir(), "outrider-agent-runs-"));
const CONTEXT = 12_000;

beforeAll(async () => {
  stub = await startStubModel({ contextTokens: CONTEXT });
  const seeing = { context_tokens: CONTEXT, max_output_tokens: 1_000, supports_images: true };
  const models = { stub: seeing };
  const local = { type: "openai-compatible", base_url: stub.baseUrl("chat"), models };
  const path = join(folder, "models.json");
  writeFileSync(path, JSON.stringify({ providers: { local }, default_model_id: "local/stub" }));
  installation = await startTestInstallation({ OUTRIDER_MODELS: path });
});
afterAll(async () => {
  await installation.stop();
  await stub.close();
  rmSync(folder, { recursive: true });
});

test("a run with an output_schema ends with a valid answer", async () => {
  const worker = await installation.worker();
  const output_schema = { type: "array", items: { type: "integer" } };
  const script = ['CALL: finish {"answer": ["one"]}', 'CALL: finish {"answer": [1, 2]}'];
  const run = await installation.create(script, { output_schema });
  const item = await installation.until(run, "SUCCEEDED");
  expect(item.output).toEqual([1, 2]);
  const events = await installation.events(run);
  const refused = events.find(({ type }) => type === "tool.returned");
  expect(refused?.data).toMatchObject({
    is_error: true,
    output: expect.stringContaining("/0 must be integer"),
  });
  await worker.drain();
});

test("a run without a valid answer fails with the reason", async () => {
  const worker = await installation.worker();
  const run = await installation.create(["SAY: words"], {
    output_schema: { type: "object", required: ["a"] },
  });
  const item = await installation.until(run, "FAILED");
  expect(item.status_message).toMatchObject({ error_code: "output_invalid" });
  await worker.drain();
});

test("an attached image is sent to the model and copied to the sandbox", async () => {
  const worker = await installation.worker();
  const data = Buffer.from("\x89PNG\r\n\x1a\n and so on", "latin1").toString("base64");
  const attachments = [{ file_name: "shot.png", mime_type: "image/png", data }];
  const run = await installation.create(["RUN: wc -c < ~/attachments/shot.png", "SAY: seen"], {
    attachments,
  });
  await installation.until(run, "SUCCEEDED");
  const events = await installation.events(run);
  expect(events.find(({ type }) => type === "command.output")?.data.text.trim()).toBe("18");
  const sent = JSON.stringify(stub.last.body);
  expect(sent).toContain("~/attachments/shot.png");
  expect(sent).toContain(data);
  await worker.drain();
});

test("a run that exceeds its model's context continues to its end and accepts a follow-up", async () => {
  const worker = await installation.worker();
  const lines = Array.from({ length: 40 }, (_, index) => `RUN: echo ${index} >> done; seq 1 400`);
  const run = await installation.create([...lines, "RUN: wc -l < done", "SAY: all done"]);
  await installation.until(run, "SUCCEEDED");
  await installation.followUp(run, ["RUN: tail -n 1 done", "SAY: still there"]);
  await vi.waitFor(async () => {
    const texts = (await installation.events(run)).filter(({ type }) => type === "run.succeeded");
    expect(texts.map(({ data }) => data.text)).toEqual(["all done", "still there"]);
  }, waitOptions);
  const events = await installation.events(run);
  expect(events.some(({ type }) => type === "compacted")).toBe(true);
  const outputs = events.filter(({ type }) => type === "command.output").map(({ data }) => data.text.trim());
  expect(outputs).toContain("40");
  expect(outputs.at(-1)).toBe("39");
  await worker.drain();
});
