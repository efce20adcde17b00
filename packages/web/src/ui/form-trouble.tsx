import { CircleAlert } from "lucide-react";
import { useEffect, useRef } from "react";
import { type Faults, faultsOf } from "../faults.ts";
import { Problem } from "./problem.tsx";

interface FormTroubleProps {
  error: unknown;
  /** What we saw ourselves, before anything was sent. */
  faults?: Faults;
  /** All fields are in sight, so that the faults are only said aloud here. */
  short?: boolean;
  /** A member's pointer as the form calls it. */
  nameOf?: (pointer: string) => string;
}

/** Why a form was not taken. Each fault stands at its field too; the focus goes to the first of them. */
export function FormTrouble({ error, faults = {}, short, nameOf = plainName }: FormTroubleProps) {
  const all = Object.entries({ ...faultsOf(error), ...faults });
  const box = useRef<HTMLDivElement>(null);
  const isThere = all.length > 0 || error != null;
  const which = all.map(([pointer]) => pointer).join(" ");
  // biome-ignore lint/correctness/useExhaustiveDependencies: a second refusal moves the focus again.
  useEffect(() => {
    if (!isThere) return;
    const form = box.current?.closest("form") ?? document;
    const first = form.querySelector<HTMLElement>('[aria-invalid="true"]');
    if (first) first.focus();
    else box.current?.scrollIntoView({ block: "center" });
  }, [isThere, error, which]);
  if (!isThere) return null;
  if (all.length === 0) {
    return (
      <div ref={box}>
        <Problem error={error} />
      </div>
    );
  }
  return (
    <div
      ref={box}
      role="alert"
      className={short ? "sr-only" : "flex items-start gap-3 rounded-lg border border-bad/40 bg-bad-soft p-4"}
    >
      <CircleAlert className="mt-0.5 size-4 shrink-0 text-bad" aria-hidden />
      <div className="min-w-0 flex-1">
        <p className="font-medium">
          {all.length === 1 ? "One thing needs correcting" : `${all.length} things need correcting`}
        </p>
        <ul className="mt-1 list-disc pl-4">
          {all.map(([pointer, message]) => (
            <li key={pointer} className="break-words">
              {nameOf(pointer)}: {message}
            </li>
          ))}
        </ul>
      </div>
    </div>
  );
}

function plainName(pointer: string): string {
  const words = pointer.replaceAll("_", " ").split("/").filter(Boolean).join(" ");
  return words.charAt(0).toUpperCase() + words.slice(1) || "The request";
}
