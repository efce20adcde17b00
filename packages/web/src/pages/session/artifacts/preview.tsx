import { useQuery } from "@tanstack/react-query";
import { useEffect, useMemo } from "react";
import { Problem } from "../../../ui/problem.tsx";
import { SkeletonRows } from "../../../ui/skeleton.tsx";
import { TextRegion } from "../../../ui/text-region.tsx";
import { visible } from "../../../ui/visible.ts";
import type { ArtifactItem } from "./artifact.ts";

const MIB = 1024 * 1024;
const LONGEST_TEXT = 200_000;

type Kind = "image" | "text";

/** How it can be looked at here, if at all. Pictures are drawn as pictures, and whatever else is text is text. */
export function kindOf({ mime_type, name, size_bytes }: ArtifactItem): Kind | undefined {
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
        <Problem error={error} onRetry={() => void refetch()} />
      </div>
    );
  }
  if (!data) {
    return (
      <div className="border-t border-line px-3">
        <SkeletonRows rows={3} label="Loading the preview" />
      </div>
    );
  }
  return kind === "image" ? <Picture content={data} name={name} /> : <Words content={data} name={name} />;
}

async function fetchContent(address: string): Promise<Uint8Array<ArrayBuffer>> {
  const response = await fetch(address);
  if (!response.ok) throw new Error(`The file could not be read (status ${response.status}).`);
  return new Uint8Array(await response.arrayBuffer());
}

function Picture({ content, name }: { content: Uint8Array<ArrayBuffer>; name: string }) {
  const address = useMemo(() => URL.createObjectURL(new Blob([content])), [content]);
  useEffect(() => () => URL.revokeObjectURL(address), [address]);
  return (
    <div className="border-t border-line bg-code p-3">
      <img src={address} alt={visible(name)} className="mx-auto max-h-[70dvh] max-w-full" />
    </div>
  );
}

function Words({ content, name }: { content: Uint8Array<ArrayBuffer>; name: string }) {
  const text = useMemo(() => new TextDecoder().decode(content.subarray(0, LONGEST_TEXT)), [content]);
  return (
    <div className="border-t border-line">
      <TextRegion label={`Content of ${visible(name)}`} text={text} className="max-h-[70dvh]" />
      {content.length > LONGEST_TEXT && (
        <p className="border-t border-line px-3 py-2 text-xs text-muted">
          This is the beginning. Download the file for all of it.
        </p>
      )}
    </div>
  );
}
