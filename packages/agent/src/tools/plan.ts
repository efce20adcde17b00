import { z } from "zod";
import { defineTool, described } from "./tool.ts";

export const updatePlan = defineTool({
  name: "update_plan",
  description: described("update_plan"),
  input: z.object({
    steps: z
      .array(z.object({ text: z.string().min(1).max(500), state: z.enum(["pending", "active", "done"]) }))
      .max(100),
  }),
  async run({ steps }, { emit }) {
    await emit({ type: "plan.updated", data: { steps } });
    const done = steps.filter(({ state }) => state === "done").length;
    return { output: `The plan is noted: ${done} of ${steps.length} steps done.` };
  },
});
