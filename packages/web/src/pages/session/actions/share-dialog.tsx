import type { RunItem } from "@outrider/sdk";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { outrider } from "../../../api.ts";
import { queryClient } from "../../../queries.ts";
import { announce } from "../../../shell/announcements.ts";
import { Button } from "../../../ui/button.tsx";
import { CopyButton } from "../../../ui/copy.tsx";
import { Dialog } from "../../../ui/dialog.tsx";
import { Field, Select, TextInput } from "../../../ui/field.tsx";
import { Problem } from "../../../ui/problem.tsx";
import { exactTime, Time } from "../../../ui/time.tsx";

const DAY = 24;

const expiries = [
  { hours: 1, words: "1 hour" },
  { hours: DAY, words: "1 day" },
  { hours: 7 * DAY, words: "1 week" },
  { hours: 30 * DAY, words: "30 days" },
  { hours: 365 * DAY, words: "1 year" },
];

export function ShareDialog({ run, onClose }: { run: RunItem; onClose: () => void }) {
  const [hours, setHours] = useState(7 * DAY);
  const onSettled = () => queryClient.invalidateQueries({ queryKey: ["run", run.run_id] });
  const make = useMutation({
    mutationFn: () => outrider.runs.share(run.run_id, { expires_in_hours: hours }),
    onSettled,
  });
  const end = useMutation({
    mutationFn: () => outrider.runs.unshare(run.run_id),
    onSuccess: () => {
      make.reset();
      announce("The link is ended: it opens nothing any more");
    },
    onSettled,
  });
  const made = make.data;
  const expires = made?.expires_at ?? run.share?.expires_at;
  const isShared = expires !== undefined && !(end.isSuccess && !made && !run.share);
  return (
    <Dialog
      open
      onClose={onClose}
      title="Share this run"
      description="Whoever has the link reads this run's transcript, changes and artifacts without signing in, and nothing else."
      footer={
        <>
          {isShared && (
            <Button look="danger" busy={end.isPending} onClick={() => end.mutate()}>
              End the link
            </Button>
          )}
          <Button look="primary" busy={make.isPending} onClick={() => make.mutate()}>
            {isShared ? "Replace the link" : "Make a link"}
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-4">
        {made?.link && (
          <Field label="Link" hint="Shown this once: we keep only a hash of it.">
            {(parts) => (
              <div className="flex gap-2">
                <TextInput
                  {...parts}
                  readOnly
                  value={made.link}
                  onFocus={({ target }) => target.select()}
                  className="font-mono text-xs"
                />
                <CopyButton text={made.link ?? ""} what="link" labelled />
              </div>
            )}
          </Field>
        )}
        {isShared && (
          <p role="status">
            A link is open until <strong className="font-medium">{exactTime(expires)}</strong> (
            <Time at={expires} />
            ).
            {!made && " Its address was shown once; whoever has it can still read. Replace it for a new one."}
          </p>
        )}
        <Field label={isShared ? "A new link ends after" : "The link ends after"}>
          {(parts) => (
            <Select {...parts} value={hours} onChange={({ target }) => setHours(Number(target.value))}>
              {expiries.map((one) => (
                <option key={one.hours} value={one.hours}>
                  {one.words}
                </option>
              ))}
            </Select>
          )}
        </Field>
        {make.isError && <Problem error={make.error} />}
        {end.isError && <Problem error={end.error} />}
      </div>
    </Dialog>
  );
}
