import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";

/** The options of `systemLayer` for the image that the conformance suite needs. */
export const imageOptions = () => ({
  morePrograms: [
    ...["base64", "dd", "env", "getent", "gzip", "ipcs", "mkfifo", "mknod", "mount", "nsenter", "perl"],
    ...["pgrep", "pkill", "rmdir", "stty", "tar", "timeout", "truncate", "tty", "umount", "unshare", "wc"],
    ...["whoami", "yes"],
  ],
  folders: [perlModules(), "/usr/lib/locale/C.utf8"].filter((path) => existsSync(path)),
});

/** Returns the folder of the modules that Debian's smallest Perl has. */
function perlModules(): string {
  const script = "print grep { m{/perl-base$} } @INC";
  return execFileSync("perl", ["-e", script], { encoding: "utf8" }) || "/usr/share/perl5";
}
