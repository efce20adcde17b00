import type { Brake } from "@outrider/sdk";
import clsx from "clsx";
import { type FormEvent, useState } from "react";
import { faultAt, faultsOf } from "../../faults.ts";
import { Button } from "../../ui/button.tsx";
import { Confirm } from "../../ui/confirm.tsx";
import { Field, TextArea } from "../../ui/field.tsx";
import { Problem } from "../../ui/problem.tsx";
import { isOn, requestOf, type Stop, stopOf, stops, wordsFor } from "./brake-words.ts";
import { useBrake } from "./use-brake.ts";

/** Follows the brake as it stands, until somebody chooses here. */
export function BrakeForm({ brake }: { brake: Brake }) {
  const [draft, setDraft] = useState<{ stop?: Stop; message?: string }>({});
  const [isAsking, setAsking] = useState(false);
  const current = stopOf(brake);
  const stop = draft.stop ?? current ?? "intake";
  const message = draft.message ?? (isOn(brake) ? (brake.message ?? "") : "");
  const isSame = stop === current;
  const { mutate, isPending, error, reset } = useBrake(() => {
    setDraft({});
    setAsking(false);
  });
  const { action, done } = wordsFor(stop);
  const set = () =>
    mutate({ request: requestOf(stop, message), done: isSame ? "The message is changed" : done });

  const submit = (event: FormEvent) => {
    event.preventDefault();
    // New runs can be let in again without harm, and on a bad day a moment counts. The rest is asked.
    if (isSame || (stop === "intake" && !isOn(brake))) set();
    else {
      reset();
      setAsking(true);
    }
  };
  return (
    <form aria-label="Set the brake" className="flex flex-col gap-4" onSubmit={submit}>
      <fieldset className="flex flex-col gap-2">
        <legend className="pb-2 font-medium">What to stop</legend>
        {stops.map((each) => (
          <label
            key={each.stop}
            className={clsx(
              "flex items-start gap-3 rounded-lg border p-3 hover:bg-raised",
              each.stop === stop ? "border-accent bg-accent-soft/40" : "border-line",
            )}
          >
            <input
              type="radio"
              name="stop"
              checked={each.stop === stop}
              onChange={() => setDraft({ ...draft, stop: each.stop })}
              aria-describedby={`says-${each.stop}`}
              aria-label={each.action}
              className="mt-0.5 size-4 shrink-0 accent-accent"
            />
            <span>
              <span className="font-medium">{each.action}</span>
              <span id={`says-${each.stop}`} className="block text-muted">
                {each.says}
              </span>
            </span>
          </label>
        ))}
      </fieldset>
      <Field
        label="Message"
        optional
        hint="In every refusal, and above every page: why, and until when."
        error={faultAt(faultsOf(error), "/message")}
      >
        {(parts) => (
          <TextArea
            {...parts}
            rows={2}
            maxLength={500}
            placeholder="Back at 14:00 UTC, after the database has moved."
            value={message}
            onChange={({ target }) => setDraft({ ...draft, message: target.value })}
          />
        )}
      </Field>
      {error && !isAsking && <Problem error={error} />}
      <div>
        <Button
          type="submit"
          look={isSame ? "plain" : "danger"}
          busy={isPending}
          disabled={isSame && message.trim() === (brake.message ?? "")}
        >
          {isSame ? "Change the message" : action}
          {!isSame && (stop !== "intake" || isOn(brake)) && "…"}
        </Button>
      </div>
      {isAsking && (
        <Confirm
          title={`${action}?`}
          action={action}
          cancel="Leave it"
          busy={isPending}
          error={error}
          onConfirm={set}
          onClose={() => setAsking(false)}
        >
          <p>{wordsFor(stop).says}</p>
          <p>{effectOf(stop, brake)}</p>
        </Confirm>
      )}
    </form>
  );
}

/** What becomes of the runs that there are. */
function effectOf(stop: Stop, { runs: { in_progress, queued } }: Brake): string {
  const fate = stop === "intake" ? "will still be worked on" : "will wait until the brake is released";
  return `${in_progress} in progress will be finished; ${queued} in the queue ${fate}.`;
}
