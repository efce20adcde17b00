import { Snippet } from "../../ui/snippet.tsx";

/** Shown here and in the welcome: what to do for a model that understands words. */
export function ModelSetup() {
  return (
    <div className="flex flex-col gap-3">
      <p>
        Start the server with a provider's key in its environment. The first that has one becomes the default:
      </p>
      <Snippet what="Anthropic command" code="ANTHROPIC_API_KEY=… make run" />
      <p className="text-muted">
        <Code>OPENAI_API_KEY</Code> and <Code>GEMINI_API_KEY</Code> work the same way. For models of your own,
        at any address that speaks OpenAI's language:
      </p>
      <Snippet
        what="own model command"
        code={`OUTRIDER_OPENAI_COMPATIBLE_URL=http://127.0.0.1:11434/v1 \\\nOUTRIDER_OPENAI_COMPATIBLE_MODELS=qwen3-coder make run`}
      />
      <p className="text-muted">
        Several providers, aliases and your own prices go into <Code>models.json</Code> in the data folder;
        see docs/models.md.
      </p>
    </div>
  );
}

function Code({ children }: { children: string }) {
  return <code className="rounded bg-code px-1 font-mono text-xs text-ink">{children}</code>;
}
