import type { CreateKeyResponse } from "@outrider/sdk";
import { TriangleAlert } from "lucide-react";
import { useState } from "react";
import { Choice } from "../../ui/choice.tsx";
import { CopyButton } from "../../ui/copy.tsx";
import { Snippet } from "../../ui/snippet.tsx";
import { snippetsFor } from "./key-snippets.ts";

/** The raw key, and how to begin with it. */
export function ShownOnce({ made, isLeaving }: { made: CreateKeyResponse; isLeaving: boolean }) {
  const { name, key = "" } = made;
  const snippets = snippetsFor(made, location.origin);
  const [tool, setTool] = useState(snippets[0]?.tool ?? "");
  const snippet = snippets.find((one) => one.tool === tool);
  return (
    <div className="flex flex-col gap-5">
      <p role="alert" className="flex gap-2 rounded-md bg-warn-soft p-3 text-ink">
        <TriangleAlert className="mt-0.5 size-4 shrink-0 text-warn" aria-hidden />
        {isLeaving
          ? "Once this is closed, nobody can show the key again. If it is lost, revoke it and make another."
          : "This is the only time it is shown: we keep nothing but a hash of it."}
      </p>
      <section aria-label="The key" className="flex flex-col gap-2">
        <h3 className="font-medium">{name}</h3>
        <code className="block rounded-md border border-line bg-code p-3 font-mono text-sm break-all select-all">
          {key}
        </code>
        <div>
          <CopyButton text={key} what="key" labelled />
        </div>
      </section>
      <section className="flex flex-col gap-2">
        <h3 className="font-medium">Begin with it</h3>
        {snippets.length > 1 && (
          <div>
            <Choice
              label="Example for"
              value={tool}
              options={snippets.map((one) => ({ value: one.tool, label: one.tool }))}
              onChange={setTool}
            />
          </div>
        )}
        {snippet && <Snippet what={`${snippet.tool} example`} code={snippet.code} />}
      </section>
    </div>
  );
}
