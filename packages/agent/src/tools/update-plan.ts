import { z } from "zod";
import { defineTool, loadDescription } from "./tool.ts";

export const updatePlan = defineTool({
  name: "update_plan",
  description: loadDescription("update_plan"),
  input: z.object({
    steps: z
      .array(z.object({ text: z.string().min(1).max(500), state: z.enum(["pending", "active", "done"]) }))
      .max(100),
  }),
  async run({ steps }, { emit }) {
    await emit({ type: "plan.updated", data: { steps } });
    const done = steps.filter(({ state }) => state === "done").length;
    return { output: `Plan updated: ${done} of ${steps.length} steps done.` };
  },
});
