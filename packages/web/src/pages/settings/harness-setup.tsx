import { Snippet } from "../../ui/text/snippet.tsx";

const declaration = `{
  "harnesses": {
    "my-agent": {
      "title": "My agent",
      "command": ["my-agent", "--acp"],
      "wire_formats": ["openai-chat"]
    }
  }
}`;

/** Explains how to install harnesses ahead of the first run, and how to declare others. */
export function HarnessSetup() {
  return (
    <div className="flex flex-col gap-3">
      <p>
        A worker installs an agent when the first run needs it. To install agents ahead, run this on the
        worker's machine:
      </p>
      <Snippet what="install command" code="bin/outrider harness install claude codex" />
      <p className="text-muted">
        <Code>bin/outrider doctor</Code> checks what the machine can use. Workers without access to npm can
        use a folder that another machine has filled.
      </p>
      <p>
        To add any agent that speaks the Agent Client Protocol, declare it in <Code>harnesses.json</Code> in
        the server's data folder, and restart the server:
      </p>
      <Snippet what="harnesses.json" code={declaration} />
    </div>
  );
}

function Code({ children }: { children: string }) {
  return <code className="rounded bg-code px-1 font-mono text-xs text-ink">{children}</code>;
}
