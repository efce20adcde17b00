import { useQuery } from "@tanstack/react-query";
import { UserPlus } from "lucide-react";
import { useState } from "react";
import { queries } from "../../queries.ts";
import { Button } from "../../ui/button.tsx";
import { ErrorAlert } from "../../ui/feedback/error-alert.tsx";
import { SkeletonRows } from "../../ui/feedback/skeleton.tsx";
import { Table, Th } from "../../ui/table.tsx";
import { Invite } from "./invite.tsx";
import { type CreatedLink, SignInLink } from "./sign-in-link.tsx";
import { UserRow } from "./user-row.tsx";

export function Users() {
  const { data: me } = useQuery(queries.me());
  const { data: users, error, refetch } = useQuery(queries.users());
  const [isInviting, setInviting] = useState(false);
  const [link, setLink] = useState<CreatedLink>();
  return (
    <section aria-label="Users">
      <header className="flex flex-wrap items-center gap-3 pb-3">
        <p className="min-w-0 flex-1 basis-64 text-muted">
          Members can see all runs and manage their own. Admins have full access.
        </p>
        <Button
          variant="primary"
          icon={<UserPlus className="size-4" aria-hidden />}
          onClick={() => setInviting(true)}
        >
          Invite
        </Button>
      </header>
      {error ? (
        <ErrorAlert error={error} onRetry={() => void refetch()} />
      ) : !users ? (
        <SkeletonRows rows={3} label="Loading users" />
      ) : (
        <Table
          label="Users"
          head={
            <>
              <Th>User</Th>
              <Th>Role</Th>
              <Th className="max-sm:hidden">Last seen</Th>
              <Th>
                <span className="sr-only">Actions</span>
              </Th>
            </>
          }
        >
          {users.map((user) => (
            <UserRow key={user.uid} user={user} isYou={user.uid === me?.uid} onLink={setLink} />
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
      {link && <SignInLink created={link} onClose={() => setLink(undefined)} />}
    </section>
  );
}
