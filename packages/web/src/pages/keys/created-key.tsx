import type { CreateKeyResponse } from "@outrider/sdk";
import { TriangleAlert } from "lucide-react";
import { useState } from "react";
import { SegmentedControl } from "../../ui/form/segmented-control.tsx";
import { CopyButton } from "../../ui/text/copy.tsx";
import { Snippet } from "../../ui/text/snippet.tsx";
import { snippetsFor } from "./key-snippets.ts";

/** Shows the new key, which cannot be shown again, with examples. */
export function CreatedKey({ created, isClosing }: { created: CreateKeyResponse; isClosing: boolean }) {
  const { name, key = "" } = created;
  const snippets = snippetsFor(created, location.origin);
  const [tool, setTool] = useState(snippets[0]?.tool ?? "");
  const snippet = snippets.find((each) => each.tool === tool);
  return (
    <div className="flex flex-col gap-5">
      <p role="alert" className="flex gap-2 rounded-md bg-warn-soft p-3 text-ink">
        <TriangleAlert className="mt-0.5 size-4 shrink-0 text-warn" aria-hidden />
        {isClosing
          ? "You cannot view this key again after closing. If you lose it, revoke it and create another."
          : "Copy the key now. You won't be able to see it again."}
      </p>
      <section aria-label="Key" className="flex flex-col gap-2">
        <h3 className="font-medium">{name}</h3>
        <code className="block rounded-md border border-line bg-code p-3 font-mono text-sm break-all select-all">
          {key}
        </code>
        <div>
          <CopyButton text={key} what="key" labelled />
        </div>
      </section>
      <section className="flex flex-col gap-2">
        <h3 className="font-medium">Get started</h3>
        {snippets.length > 1 && (
          <div>
            <SegmentedControl
              label="Example"
              value={tool}
              options={snippets.map((each) => ({ value: each.tool, label: each.tool }))}
              onChange={setTool}
            />
          </div>
        )}
        {snippet && <Snippet what={`${snippet.tool} example`} code={snippet.code} />}
      </section>
    </div>
  );
}
