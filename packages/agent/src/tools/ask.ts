import { z } from "zod";
import { defineTool } from "./tool.ts";

export const ASK = "ask";

const description = `Asks the user a question and stops your work until the answer comes, perhaps after days.
Use it only where you cannot go on without a decision that is the user's.`;

export const AskInput = z.object({ question: z.string().min(1) });

/** The loop ends the turn when a question is all that is left. */
export const ask = defineTool({
  name: ASK,
  description,
  input: AskInput,
  async run() {
    return { output: "The user has been asked. The next message is the answer." };
  },
});
