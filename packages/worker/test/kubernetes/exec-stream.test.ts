import { expect, test } from "vitest";
import { ExecStream } from "../../src/sandboxes/kubernetes/cluster/exec-stream.ts";

test.each([
  ['{"status":"Success"}', undefined],
  ['{"status":"Failure","message":"command not found"}', "command not found"],
  ["<html>", "the cluster sent an invalid status"],
])("a process ends with the status %s", async (status, problem) => {
  const stream = new ExecStream();
  stream.receive(1, Buffer.from("output"));
  stream.receive(3, Buffer.from(status));
  const chunks = await stream.toArray();
  expect(chunks.join("")).toBe("output");
  expect(stream.problem).toBe(problem);
});
