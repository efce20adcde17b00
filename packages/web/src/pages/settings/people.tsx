import { useQuery } from "@tanstack/react-query";
import { UserPlus } from "lucide-react";
import { useState } from "react";
import { queries } from "../../queries.ts";
import { Button } from "../../ui/button.tsx";
import { Problem } from "../../ui/problem.tsx";
import { SkeletonRows } from "../../ui/skeleton.tsx";
import { Table, Th } from "../../ui/table.tsx";
import { Invite } from "./invite.tsx";
import { type HandedLink, LinkOnce } from "./link-once.tsx";
import { PersonRow } from "./person-row.tsx";

export function People() {
  const { data: me } = useQuery(queries.me());
  const { data: people, error, refetch } = useQuery(queries.people());
  const [isInviting, setInviting] = useState(false);
  const [link, setLink] = useState<HandedLink>();
  return (
    <section aria-label="People">
      <header className="flex flex-wrap items-center gap-3 pb-3">
        <p className="min-w-0 flex-1 basis-64 text-muted">
          Members see all runs and steer their own. Admins do everything, and see this page.
        </p>
        <Button
          look="primary"
          icon={<UserPlus className="size-4" aria-hidden />}
          onClick={() => setInviting(true)}
        >
          Invite
        </Button>
      </header>
      {error ? (
        <Problem error={error} onRetry={() => void refetch()} />
      ) : !people ? (
        <SkeletonRows rows={3} label="Loading people" />
      ) : (
        <Table
          label="People"
          head={
            <>
              <Th>Person</Th>
              <Th>Role</Th>
              <Th className="max-sm:hidden">Last here</Th>
              <Th>
                <span className="sr-only">Actions</span>
              </Th>
            </>
          }
        >
          {people.map((person) => (
            <PersonRow key={person.uid} person={person} isYou={person.uid === me?.uid} onLink={setLink} />
          ))}
        </Table>
      )}
      {isInviting && (
        <Invite
          onClose={() => setInviting(false)}
          onInvited={(made) => {
            setInviting(false);
            setLink(made);
          }}
        />
      )}
      {link && <LinkOnce handed={link} onClose={() => setLink(undefined)} />}
    </section>
  );
}
