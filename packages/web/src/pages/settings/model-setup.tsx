import { Snippet } from "../../ui/text/snippet.tsx";

/** Explains how to connect a real model. The welcome page also uses this component. */
export function ModelSetup() {
  return (
    <div className="flex flex-col gap-3">
      <p>
        Start the server with a provider's API key in its environment. The first provider with a key becomes
        the default:
      </p>
      <Snippet what="Anthropic command" code="ANTHROPIC_API_KEY=… make run" />
      <p className="text-muted">
        <Code>OPENAI_API_KEY</Code> and <Code>GEMINI_API_KEY</Code> work the same way. For your own
        OpenAI-compatible server:
      </p>
      <Snippet
        what="own model command"
        code={`OUTRIDER_OPENAI_COMPATIBLE_URL=http://127.0.0.1:11434/v1 \\\nOUTRIDER_OPENAI_COMPATIBLE_MODELS=qwen3-coder make run`}
      />
      <p className="text-muted">
        Configure several providers, aliases and prices in <Code>models.json</Code> in the data folder. See
        docs/models.md.
      </p>
    </div>
  );
}

function Code({ children }: { children: string }) {
  return <code className="rounded bg-code px-1 font-mono text-xs text-ink">{children}</code>;
}
