import type { ModelTest } from "@outrider/sdk";
import { CircleCheck, CircleX } from "lucide-react";
import { Time } from "../../../ui/format/time.tsx";

/** Shows what a real call returned, or what is wrong and what to do. */
export function TestResult({ test, showTime = false }: { test: ModelTest; showTime?: boolean }) {
  const { ok, message, remedy, response, input_tokens, output_tokens } = test;
  const Icon = ok ? CircleCheck : CircleX;
  const hasTokens = input_tokens !== undefined && output_tokens !== undefined;
  return (
    <div className="flex items-start gap-2">
      <Icon className={`mt-0.5 size-4 shrink-0 ${ok ? "text-good" : "text-bad"}`} aria-hidden />
      <div className="min-w-0 flex-1 break-words">
        <p>
          {message}
          {showTime && (
            <span className="text-muted">
              {" "}
              <Time at={test.tested_at} />
            </span>
          )}
        </p>
        {response && (
          <p className="text-muted">
            “{response}”{hasTokens && ` · ${input_tokens} tokens in, ${output_tokens} out`}
          </p>
        )}
        {remedy && <p className="text-muted">{remedy}</p>}
      </div>
    </div>
  );
}
