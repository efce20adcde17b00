import { type StubModel, startStubModel } from "../../packages/agent/test/stub-model/server.ts";
import { answerParent } from "../support/child-process.ts";

/** Runs the stub model provider in its own process and returns its base URL. */
let stub: StubModel | undefined;

answerParent(async () => {
  stub ??= await startStubModel({ record: false });
  return stub.baseUrl("chat");
});
