import { testInAnyImage } from "./any-image.ts";

testInAnyImage({ opencode: "opencode acp", gemini: "gemini --acp", qwen: "qwen --acp", pi: "pi-acp" });
