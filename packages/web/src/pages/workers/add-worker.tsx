import { useState } from "react";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/overlay/dialog.tsx";
import { Snippet } from "../../ui/text/snippet.tsx";
import { NewKey } from "../keys/new-key.tsx";

/** Shows instructions for adding a worker. The last step creates its key. */
export function AddWorker({ onClose }: { onClose: () => void }) {
  const [isMaking, setMaking] = useState(false);
  if (isMaking) return <NewKey type="worker" onClose={onClose} />;
  return (
    <Dialog
      open
      sheet
      onClose={onClose}
      title="Add worker"
      description="Add workers to execute more runs at once. A worker needs access to this server, and either Linux with bubblewrap and user namespaces, a Docker or Podman engine, or a Kubernetes cluster."
      footer={
        <Button variant="primary" onClick={() => setMaking(true)}>
          Create worker key
        </Button>
      }
    >
      <ol className="flex list-decimal flex-col gap-4 pl-5">
        <li>
          <p className="mb-2">On the new machine, in a checkout of Outrider, check what it supports:</p>
          <Snippet what="check command" code="bin/outrider doctor" />
        </li>
        <li>Create a worker key here. It can only claim runs.</li>
        <li>
          <p className="mb-2">Start the worker with the key:</p>
          <Snippet
            what="worker command"
            code={`OUTRIDER_WORKER_KEY=… \\\n  bin/outrider worker --server ${location.origin} --slots 4`}
          />
        </li>
        <li>The worker appears in this list within seconds. Press Ctrl-C to drain it.</li>
      </ol>
    </Dialog>
  );
}
