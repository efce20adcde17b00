import { isFinal } from "@outrider/contract/run-state";
import type { RunItem } from "@outrider/sdk";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useRef } from "react";
import { queries } from "../queries.ts";
import { stateLabels } from "../ui/run-state.tsx";
import { sanitizeLine } from "../ui/text/sanitize.ts";

const POLL_MS = 10_000;

/**
 * Notifies the user when one of their runs needs an answer or ends while this page is not in view. It is rendered, and
 * its code loaded, only for users who chose this.
 */
export function Notifications() {
  const navigate = useNavigate();
  const { data: me } = useQuery(queries.me());
  const { data: runs } = useQuery({
    ...queries.runs({ creator: me?.uid ?? "", sort_by: "updated_at", sort_order: "desc", limit: 20 }),
    enabled: me !== undefined,
    refetchInterval: POLL_MS,
    refetchIntervalInBackground: true,
  });
  const known = useRef<Map<string, RunItem["state"]>>(undefined);
  useEffect(() => {
    if (!runs) return;
    const before = known.current;
    known.current = new Map([...(before ?? []), ...runs.map((run) => [run.run_id, run.state] as const)]);
    // What happened before the page was opened is not news.
    if (!before) return;
    for (const run of runs.filter((each) => before.get(each.run_id) !== each.state)) {
      if (run.state !== "BLOCKED" && !isFinal(run.state)) continue;
      if (document.visibilityState === "visible" && document.hasFocus()) continue;
      show(run, () => void navigate({ to: "/runs/$runId", params: { runId: run.run_id } }));
    }
  }, [runs, navigate]);
  return null;
}

function show({ run_id, title, state, status_message }: RunItem, open: () => void) {
  const message = state === "SUCCEEDED" ? undefined : status_message?.message;
  try {
    // Other tabs show the same notification, which the tag makes one.
    const notification = new Notification(`${stateLabels[state]}: ${sanitizeLine(title)}`, {
      tag: `${run_id} ${state}`,
      icon: "/favicon.svg",
      ...(message && { body: sanitizeLine(message).slice(0, 200) }),
    });
    notification.onclick = () => {
      window.focus();
      open();
      notification.close();
    };
  } catch {
    // Browsers on phones offer notifications only to installed apps.
  }
}
