import { z } from "zod";

export const BatchNumber = z
  .int()
  .min(1)
  .meta({ description: "Batch number within the execution, build or shell, starting at 1." });
