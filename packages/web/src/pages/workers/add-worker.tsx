import { useState } from "react";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Snippet } from "../../ui/snippet.tsx";
import { NewKey } from "../keys/new-key.tsx";

/** How another machine joins. The key is made on the way, and its command then holds it. */
export function AddWorker({ onClose }: { onClose: () => void }) {
  const [isMaking, setMaking] = useState(false);
  if (isMaking) return <NewKey type="worker" onClose={onClose} />;
  return (
    <Dialog
      open
      sheet
      onClose={onClose}
      title="Add a worker"
      description="More workers mean more runs at once. Each needs Linux, bubblewrap and user namespaces, and has to reach this server."
      footer={
        <Button look="primary" onClick={() => setMaking(true)}>
          Make a worker key
        </Button>
      }
    >
      <ol className="flex list-decimal flex-col gap-4 pl-5">
        <li>
          <p className="mb-2">On that machine, in a checkout of Outrider, see what it can enforce:</p>
          <Snippet what="check command" code="bin/outrider doctor" />
        </li>
        <li>Make a worker key here. It may take runs and nothing else.</li>
        <li>
          <p className="mb-2">Start the worker with it:</p>
          <Snippet
            what="worker command"
            code={`OUTRIDER_WORKER_KEY=… \\\n  bin/outrider worker --server ${location.origin} --slots 4`}
          />
        </li>
        <li>It appears in this list within seconds. Ctrl-C drains it.</li>
      </ol>
    </Dialog>
  );
}
