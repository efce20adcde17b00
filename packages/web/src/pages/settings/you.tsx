import { useQuery } from "@tanstack/react-query";
import { queries, signOut } from "../../queries.ts";
import { SingleKeys } from "../../shell/single-keys.tsx";
import { chooseTheme, useTheme } from "../../shell/theme.ts";
import { Button } from "../../ui/button.tsx";
import { Choice } from "../../ui/choice.tsx";
import { Section } from "../../ui/page.tsx";
import { Skeleton } from "../../ui/skeleton.tsx";
import { Time } from "../../ui/time.tsx";
import { Password } from "./password.tsx";
import { YourName } from "./your-name.tsx";

export function You() {
  const { data: me } = useQuery(queries.me());
  const theme = useTheme();
  return (
    <>
      <Section title="Profile">
        {me ? <YourName key={me.uid} me={me} /> : <Skeleton className="h-9 w-2/3" />}
      </Section>
      {me?.session && (
        <Section
          title="Sign-in"
          lead={
            <>
              This browser came in <Time at={me.session.created_at} /> by{" "}
              {me.session.signed_in_by === "link" ? "a one-time link" : "password"}, and is signed out{" "}
              <Time at={me.session.expires_at} /> if it is not used before.
            </>
          }
          actions={<Button onClick={() => void signOut()}>Sign out</Button>}
        >
          <Password session={me.session} email={me.email} />
        </Section>
      )}
      <Section title="Appearance and keyboard" lead="Kept in this browser.">
        <div className="flex flex-col gap-4">
          <Choice
            label="Theme"
            value={theme}
            options={[
              { value: "system", label: "Like the system" },
              { value: "light", label: "Light" },
              { value: "dark", label: "Dark" },
            ]}
            onChange={chooseTheme}
          />
          <SingleKeys />
        </div>
      </Section>
    </>
  );
}
