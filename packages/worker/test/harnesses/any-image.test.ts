import { testInAnyImage } from "./any-image.ts";

testInAnyImage({ claude: "claude-agent-acp", codex: "codex-acp" });
