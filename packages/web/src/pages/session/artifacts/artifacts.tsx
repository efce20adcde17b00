import { Download, FileBox, FileDiff, File as FileSign } from "lucide-react";
import { useState } from "react";
import { bytes } from "../../../ui/amount.ts";
import { Button, buttonClass } from "../../../ui/button.tsx";
import { Empty } from "../../../ui/empty.tsx";
import { visible } from "../../../ui/visible.ts";
import type { LogSource } from "../log/source.ts";
import type { ArtifactItem } from "./artifact.ts";
import { kindOf, Preview } from "./preview.tsx";

interface ArtifactsProps {
  artifacts: readonly ArtifactItem[] | undefined;
  source: LogSource;
}

/** The files that the run has left. */
export function Artifacts({ artifacts = [], source }: ArtifactsProps) {
  if (artifacts.length === 0) {
    return (
      <Empty icon={<FileBox className="size-5" aria-hidden />} title="No artifacts">
        Files that the agent keeps for you, long outputs of commands and the patch of all changes stand here.
      </Empty>
    );
  }
  return (
    <ul className="flex flex-col gap-2">
      {artifacts.map((artifact) => (
        <Row key={artifact.artifact_id} artifact={artifact} source={source} />
      ))}
    </ul>
  );
}

function Row({ artifact, source }: { artifact: ArtifactItem; source: LogSource }) {
  const [isShown, setIsShown] = useState(false);
  const { name, mime_type, size_bytes, type, artifact_id } = artifact;
  const address = source.artifactAddress?.(artifact_id);
  const kind = kindOf(artifact);
  const Sign = type === "PATCH" ? FileDiff : FileSign;
  return (
    <li className="overflow-hidden rounded-lg border border-line bg-surface">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2 px-3 py-2">
        <Sign className="size-4 shrink-0 text-muted" aria-hidden />
        <div className="min-w-40 flex-1">
          <p className="truncate font-medium" title={visible(name)}>
            {visible(name)}
          </p>
          <p className="text-xs text-muted">
            {bytes(size_bytes)} · {visible(mime_type)}
          </p>
        </div>
        {address && kind && (
          <Button aria-expanded={isShown} onClick={() => setIsShown(!isShown)}>
            {isShown ? "Hide" : "Preview"}
            <span className="sr-only"> of {visible(name)}</span>
          </Button>
        )}
        {address && (
          <a href={address} download={name} className={buttonClass("plain")}>
            <Download className="size-4" aria-hidden />
            Download<span className="sr-only"> {visible(name)}</span>
          </a>
        )}
      </div>
      {isShown && address && kind && <Preview kind={kind} name={name} address={address} />}
    </li>
  );
}
