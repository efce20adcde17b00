import { useQuery } from "@tanstack/react-query";
import clsx from "clsx";
import { useHarnessTitles } from "../../harnesses/harnesses.ts";
import { queries } from "../../queries.ts";
import { sanitize } from "../../ui/text/sanitize.ts";
import type { Draft } from "./draft.ts";
import { compareLines, differencesOf, type FieldDifference } from "./draft-difference.ts";

/** Shows how the form differs from the run that it would repeat. */
export function DraftChanges({ before, after }: { before: Draft; after: Draft }) {
  const { data: environments } = useQuery(queries.environments());
  const harness = useHarnessTitles();
  const changes = differencesOf(before, after);
  const shown = ({ member }: FieldDifference, value: string) => {
    if (value === "") return "default";
    if (member === "environment_id")
      return environments?.find(({ environment_id }) => environment_id === value)?.name ?? value;
    return member === "harness" ? (harness(value) ?? value) : value;
  };
  return (
    <section aria-label="Changes" className="border-t border-line px-4 py-3 text-xs">
      <h3 role="status" className="font-medium">
        {changes.length === 0
          ? "Same as the original run"
          : `${changes.length} ${changes.length === 1 ? "field differs" : "fields differ"} from the original run`}
      </h3>
      {changes.length > 0 && (
        <dl className="mt-2 flex flex-col gap-2">
          {changes.map((change) => (
            <div key={change.member} className="flex flex-col gap-1">
              <dt className="text-muted">{change.label}</dt>
              <dd className="min-w-0">
                {isLong(change) ? (
                  <Lines {...change} />
                ) : (
                  <span className="break-words">
                    <del className="text-muted">{sanitize(shown(change, change.before))}</del>
                    <span aria-hidden> → </span>
                    <ins className="font-medium no-underline">{sanitize(shown(change, change.after))}</ins>
                  </span>
                )}
              </dd>
            </div>
          ))}
        </dl>
      )}
    </section>
  );
}

function isLong({ member, before, after }: FieldDifference): boolean {
  return member === "prompt" || /\n/.test(before + after);
}

const looks = {
  same: { sign: " ", className: "text-muted" },
  added: { sign: "+", className: "bg-good-soft" },
  removed: { sign: "−", className: "bg-bad-soft" },
};

function Lines({ before, after }: FieldDifference) {
  return (
    <pre
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region must be reachable by keyboard.
      tabIndex={0}
      className="max-h-60 overflow-auto rounded-md border border-line font-mono whitespace-pre-wrap"
    >
      {compareLines(before, after).map(({ kind, text }, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: lines have no identity and no state.
        <span key={at} className={clsx("block px-2", looks[kind].className)}>
          {looks[kind].sign} {sanitize(text)}
        </span>
      ))}
    </pre>
  );
}
