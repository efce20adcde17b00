import { z } from "zod";
import { defineTool, described } from "./tool.ts";

export const ASK = "ask";

export const AskInput = z.object({ question: z.string().min(1) });

/** The loop ends the turn when a question is all that is left. */
export const ask = defineTool({
  name: ASK,
  description: described(ASK),
  input: AskInput,
  async run() {
    return { output: "The user has been asked. The next message is the answer." };
  },
});
