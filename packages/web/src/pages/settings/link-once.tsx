import type { SignInLinkResponse } from "@outrider/sdk";
import { Button } from "../../ui/button.tsx";
import { CopyButton } from "../../ui/copy.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Time } from "../../ui/time.tsx";

export interface HandedLink extends SignInLinkResponse {
  display_name: string;
}

/** A lost one costs nothing: another takes its place. So it closes without being asked about. */
export function LinkOnce({ handed, onClose }: { handed: HandedLink; onClose: () => void }) {
  const { display_name, link = "", expires_at } = handed;
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Sign-in link for ${display_name}`}
      description="Hand it over yourself, where nobody else reads along: whoever opens it first is signed in."
      footer={
        <>
          <Button onClick={onClose}>Done</Button>
          <CopyButton text={link} what="link" labelled />
        </>
      }
    >
      <code className="block rounded-md border border-line bg-code p-3 font-mono text-xs break-all select-all">
        {link}
      </code>
      <p className="mt-3 text-muted">
        It is shown this once, opens once, and ends <Time at={expires_at} />. A new one takes its place.
      </p>
    </Dialog>
  );
}
