import type { Key } from "@outrider/sdk";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { outrider } from "../../api.ts";
import { showToast } from "../../frame/toasts.ts";
import { queries, queryClient } from "../../queries.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { Time } from "../../ui/format/time.tsx";
import { Confirm } from "../../ui/overlay/confirm.tsx";
import { Table, Td, Th } from "../../ui/table.tsx";
import { limitsOf, permissionsOf, typeLabels } from "./key-labels.ts";
import type { Owners } from "./owners.ts";

const SOON_MS = 7 * 86_400_000;

export function KeyTable({ keys, owners }: { keys: Key[]; owners: Owners }) {
  const [revoking, setRevoking] = useState<Key>();
  return (
    <>
      <Table
        label="Keys"
        head={
          <>
            <Th>Name</Th>
            <Th className="max-lg:hidden">Owner</Th>
            <Th className="max-md:hidden">Permissions</Th>
            <Th className="max-sm:hidden">Last used</Th>
            <Th className="max-sm:hidden">Expires</Th>
            <Th>
              <span className="sr-only">Actions</span>
            </Th>
          </>
        }
      >
        {keys.map((key) => (
          <tr key={key.key_id}>
            <Td>
              <div className="font-medium break-words">{key.name}</div>
              <div className="mt-1 flex items-center gap-2">
                <Badge tone={key.type === "personal" ? "plain" : key.type === "agent" ? "accent" : "live"}>
                  {typeLabels[key.type]}
                </Badge>
                <span className="font-mono text-xs text-muted">{key.prefix}…</span>
              </div>
              <div className="mt-1 text-xs text-muted lg:hidden">
                {owners.nameOf(key)}
                <span className="md:hidden"> · {permissionsOf(key)}</span>
                <span className="sm:hidden">
                  {key.last_used_at ? " · used " : " · "}
                  <LastUsed at={key.last_used_at} />
                </span>
                {key.expires_at && (
                  <span className="sm:hidden">
                    {" · expires "}
                    <Time at={key.expires_at} />
                  </span>
                )}
              </div>
            </Td>
            <Td className="max-lg:hidden">{owners.nameOf(key)}</Td>
            <Td className="max-md:hidden">
              <span className="block">{permissionsOf(key)}</span>
              {limitsOf(key.limits).map((limit) => (
                <span key={limit} className="block text-xs text-muted">
                  {limit}
                </span>
              ))}
            </Td>
            <Td className="whitespace-nowrap text-muted max-sm:hidden">
              <LastUsed at={key.last_used_at} />
            </Td>
            <Td className="whitespace-nowrap text-muted max-sm:hidden">
              <Expiry at={key.expires_at} />
            </Td>
            <Td className="text-right">
              <Button variant="danger" aria-label={`Revoke ${key.name}`} onClick={() => setRevoking(key)}>
                Revoke
              </Button>
            </Td>
          </tr>
        ))}
      </Table>
      {revoking && <Revoke apiKey={revoking} onClose={() => setRevoking(undefined)} />}
    </>
  );
}

function LastUsed({ at }: { at: string | undefined }) {
  return at ? <Time at={at} /> : <>Never used</>;
}

function Expiry({ at }: { at: string | undefined }) {
  if (!at) return <>Never</>;
  const isNear = Date.parse(at) - Date.now() < SOON_MS;
  return isNear ? <Time at={at} className="font-medium text-warn" /> : <Time at={at} />;
}

function Revoke({ apiKey, onClose }: { apiKey: Key; onClose: () => void }) {
  const { mutate, isPending, error } = useMutation({
    mutationFn: () => outrider.keys.delete(apiKey.key_id),
    async onSuccess() {
      await queryClient.invalidateQueries(queries.keys());
      showToast("Key revoked");
      onClose();
    },
  });
  return (
    <Confirm
      title={`Revoke ${apiKey.name}?`}
      action="Revoke key"
      busy={isPending}
      error={error}
      onConfirm={() => mutate()}
      onClose={onClose}
    >
      <p>
        {apiKey.type === "worker"
          ? "Workers that use this key lose access, and other workers take over their runs."
          : "Programs that use this key lose access, and its open streams end."}{" "}
        This cannot be undone. Runs that it created are kept.
      </p>
    </Confirm>
  );
}
