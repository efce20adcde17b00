/** Qwen Code, which speaks ACP itself. It needs 2 GB of memory. */
import { z } from "zod";
import { DUMMY_KEY, type Profile } from "../profile.ts";
import { textOf } from "../tool-call-state.ts";

const ShellInput = z.object({ command: z.string() });
const ShellOutput = z.object({
  exitCode: z.int().optional().catch(undefined),
  output: z.string().optional().catch(undefined),
});

export const qwen: Profile = {
  name: "qwen",
  whileBusy: "cancel",
  canLoadSessions: true,
  startMs: 120_000,
  sessionMode: "yolo",
  readsGuides: ["AGENTS.md"],
  command: ({ node, packages }) => [
    node,
    `${packages}/@qwen-code/qwen-code/cli.js`,
    ...["--acp", "--auth-type", "openai"],
  ],
  env: ({ gatewayUrl, model }) => ({
    OPENAI_BASE_URL: `${gatewayUrl}/v1`,
    OPENAI_API_KEY: DUMMY_KEY,
    OPENAI_MODEL: model.id,
    QWEN_CODE_NO_RELAUNCH: "true",
  }),
  files: ({ instructions }) => ({
    ".qwen/settings.json": `${JSON.stringify({
      security: { auth: { selectedType: "openai" } },
      general: { enableAutoUpdate: false },
      privacy: { usageStatisticsEnabled: false },
      telemetry: { enabled: false },
      context: { fileName: ["QWEN.md", "AGENTS.md"] },
    })}\n`,
    ".qwen/QWEN.md": `${instructions}\n`,
  }),
  commandOf(call) {
    if (call.kind !== "execute") return undefined;
    const { exitCode, output } = ShellOutput.safeParse(call.rawOutput).data ?? {};
    return {
      command: ShellInput.safeParse(call.rawInput).data?.command,
      output: output ?? textOf(call),
      exitCode,
    };
  },
};
