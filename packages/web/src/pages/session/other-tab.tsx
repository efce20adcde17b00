import type { RunItem } from "@outrider/sdk";
import { useQuery } from "@tanstack/react-query";
import clsx from "clsx";
import { outrider } from "../../api.ts";
import { queries } from "../../queries.ts";
import { Artifacts } from "./artifacts/artifacts.tsx";
import { patchVersion } from "./changes/changed-count.ts";
import { Changes } from "./changes/changes.tsx";
import { CommentBar } from "./changes/comment-bar.tsx";
import { useLineComments } from "./changes/use-line-comments.ts";
import { Files } from "./files/files.tsx";
import type { LogView } from "./log/log-view.ts";
import { PublishPanel } from "./publishing/publish-panel.tsx";
import { Raw } from "./raw/raw.tsx";
import { Receipt } from "./receipt/receipt.tsx";
import type { Tab } from "./tab.ts";
import { Timeline } from "./timeline/timeline.tsx";
import { Usage } from "./usage/usage.tsx";

interface OtherTabProps {
  tab: Exclude<Tab, "transcript">;
  run: RunItem;
  log: LogView;
  /** Whether the user may control the run. */
  isAllowed: boolean;
}

/** Shows every tab except the transcript. Their code is loaded when one of them is first opened. */
export function OtherTab({ tab, run, log, isAllowed }: OtherTabProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region must be reachable by keyboard.
    <section data-scroller aria-label={tab} tabIndex={0} className="h-full overflow-y-auto -outline-offset-2">
      <div
        className={clsx(
          "mx-auto w-full max-w-screen-2xl px-4 py-4 sm:px-6",
          tab === "files" && "h-full min-h-96",
        )}
      >
        {tab === "changes" && <ChangesOf run={run} isAllowed={isAllowed} onChanged={log.wake} />}
        {tab === "files" && <Files run={run} />}
        {tab === "timeline" && <Timeline run={run} log={log} />}
        {tab === "artifacts" && <Artifacts artifacts={run.artifacts} source={log.source} />}
        {tab === "usage" && <Usage usage={run.usage} log={log} />}
        {tab === "receipt" && <Receipt run={run} />}
        {tab === "raw" && (
          <Raw
            run={run}
            log={log}
            fetchLines={() => outrider.runs.transcript(run.run_id, "ndjson").asResponse()}
          />
        )}
      </div>
    </section>
  );
}

interface ChangesOfProps {
  run: RunItem;
  isAllowed: boolean;
  onChanged: () => void;
}

function ChangesOf({ run, isAllowed, onChanged }: ChangesOfProps) {
  const { data: patch, error, refetch } = useQuery(queries.diff(run.run_id, patchVersion(run)));
  const comments = useLineComments(run.run_id);
  return (
    <>
      <PublishPanel run={run} canPublish={isAllowed} onChanged={onChanged} />
      <Changes
        patch={patch}
        error={error}
        onRetry={() => void refetch()}
        runId={run.run_id}
        state={run.state}
        {...(isAllowed && { comments })}
      />
      {isAllowed && <CommentBar runId={run.run_id} comments={comments} onSent={onChanged} />}
    </>
  );
}
