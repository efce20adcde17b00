import { useQuery } from "@tanstack/react-query";
import { useEffect, useMemo } from "react";
import { ErrorAlert } from "../../../ui/feedback/error-alert.tsx";
import { SkeletonRows } from "../../../ui/feedback/skeleton.tsx";
import { sanitize } from "../../../ui/text/sanitize.ts";
import { TextRegion } from "../../../ui/text/text-region.tsx";
import type { ArtifactItem } from "./artifact.ts";

const MIB = 1024 * 1024;
const MAX_TEXT = 200_000;

type Kind = "image" | "text";

/** Returns how the artifact can be previewed, if at all. HTML and SVG are shown as text. */
export function previewKindOf({ mime_type, name, size_bytes }: ArtifactItem): Kind | undefined {
  if (size_bytes > 10 * MIB) return undefined;
  if (/^image\/(png|jpeg|gif|webp|avif)$/i.test(mime_type)) return "image";
  if (/^(text\/|application\/(json|xml|x-ndjson|yaml|toml|javascript|x-sh))|[+](json|xml)$/i.test(mime_type))
    return "text";
  return /\.(txt|md|log|json|ya?ml|toml|csv|patch|diff|xml|html|svg)$/i.test(name) ? "text" : undefined;
}

interface PreviewProps {
  kind: Kind;
  name: string;
  address: string;
}

export function Preview({ kind, name, address }: PreviewProps) {
  const { data, error, refetch } = useQuery({
    queryKey: ["artifact", address],
    queryFn: () => fetchContent(address),
    staleTime: Infinity,
    gcTime: 60_000,
  });
  if (error) {
    return (
      <div className="border-t border-line p-3">
        <ErrorAlert error={error} onRetry={() => void refetch()} />
      </div>
    );
  }
  if (!data) {
    return (
      <div className="border-t border-line px-3">
        <SkeletonRows rows={3} label="Loading preview" />
      </div>
    );
  }
  return kind === "image" ? (
    <ImagePreview content={data} name={name} />
  ) : (
    <TextPreview content={data} name={name} />
  );
}

async function fetchContent(address: string): Promise<Uint8Array<ArrayBuffer>> {
  const response = await fetch(address);
  if (!response.ok) throw new Error("Could not load the file. Try again in a moment.");
  return new Uint8Array(await response.arrayBuffer());
}

function ImagePreview({ content, name }: { content: Uint8Array<ArrayBuffer>; name: string }) {
  const address = useMemo(() => URL.createObjectURL(new Blob([content])), [content]);
  useEffect(() => () => URL.revokeObjectURL(address), [address]);
  return (
    <div className="border-t border-line bg-code p-3">
      <img src={address} alt={sanitize(name)} className="mx-auto max-h-[70dvh] max-w-full" />
    </div>
  );
}

function TextPreview({ content, name }: { content: Uint8Array<ArrayBuffer>; name: string }) {
  const text = useMemo(() => new TextDecoder().decode(content.subarray(0, MAX_TEXT)), [content]);
  return (
    <div className="border-t border-line">
      <TextRegion label={`Content of ${sanitize(name)}`} text={text} className="max-h-[70dvh]" />
      {content.length > MAX_TEXT && (
        <p className="border-t border-line px-3 py-2 text-xs text-muted">
          Showing the start of the file. Download it to see the rest.
        </p>
      )}
    </div>
  );
}
