import { useQuery } from "@tanstack/react-query";
import { NotificationSetting } from "../../frame/notification-setting.tsx";
import { SingleKeySetting } from "../../frame/single-key-setting.tsx";
import { chooseTheme, useTheme } from "../../frame/theme.ts";
import { queries, signOut } from "../../queries.ts";
import { Button } from "../../ui/button.tsx";
import { Skeleton } from "../../ui/feedback/skeleton.tsx";
import { SegmentedControl } from "../../ui/form/segmented-control.tsx";
import { Time } from "../../ui/format/time.tsx";
import { Section } from "../../ui/page.tsx";
import { EmailForm } from "./email-form.tsx";
import { Password } from "./password.tsx";
import { ProfileForm } from "./profile-form.tsx";

export function AccountSettings() {
  const { data: me } = useQuery(queries.me());
  const theme = useTheme();
  return (
    <>
      <Section title="Profile">
        {me ? (
          <div className="flex flex-col gap-4">
            <EmailForm key={me.email} me={me} />
            <ProfileForm key={me.uid} me={me} />
          </div>
        ) : (
          <Skeleton className="h-9 w-2/3" />
        )}
      </Section>
      {me?.session && (
        <Section
          title="Sign-in"
          lead={
            <>
              Signed in <Time at={me.session.created_at} /> with a{" "}
              {me.session.signed_in_by === "link" ? "one-time link" : "password"}. The session expires{" "}
              <Time at={me.session.expires_at} /> if you do not use it.
            </>
          }
          actions={<Button onClick={() => void signOut()}>Sign out</Button>}
        >
          <Password session={me.session} email={me.email} />
        </Section>
      )}
      <Section title="Notifications" lead="Saved in this browser.">
        <NotificationSetting />
      </Section>
      <Section title="Appearance and keyboard" lead="Saved in this browser.">
        <div className="flex flex-col gap-4">
          <SegmentedControl
            label="Theme"
            value={theme}
            options={[
              { value: "system", label: "System" },
              { value: "light", label: "Light" },
              { value: "dark", label: "Dark" },
            ]}
            onChange={chooseTheme}
          />
          <SingleKeySetting />
        </div>
      </Section>
    </>
  );
}
