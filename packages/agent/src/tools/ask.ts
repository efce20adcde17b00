import { z } from "zod";
import { defineTool, loadDescription } from "./tool.ts";

export const ASK = "ask";

export const AskInput = z.object({ question: z.string().min(1) });

/** Asks the user a question. The turn ends after the step that calls this tool. */
export const ask = defineTool({
  name: ASK,
  description: loadDescription(ASK),
  input: AskInput,
  async run() {
    return { output: "The question was sent to the user. The next message is the answer." };
  },
});
