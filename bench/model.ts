import { type StubModel, startStubModel } from "../packages/agent/test/stub-model/server.ts";
import { answerParent } from "./child.ts";

/** A model provider in a process of its own, over HTTP. Answers with its address. */
let stub: StubModel | undefined;

answerParent(async () => {
  stub ??= await startStubModel({ record: false });
  return stub.baseUrl("chat");
});
