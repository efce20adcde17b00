#!/bin/sh
# Installs, upgrades or rolls back Outrider from this folder, without any network.
#
#   ./install.sh install      install this version, its systemd units and a user for the server
#   ./install.sh upgrade      migrate the database, switch to this version and restart the services
#   ./install.sh rollback     switch back to the version that was current before
#
# Versions are folders next to each other in /opt/outrider, and /opt/outrider/current is a symbolic link to the one in use.
# Data (/var/lib/outrider-server, /var/lib/outrider-worker) and settings (/etc/outrider) are never changed or removed.
set -eu
umask 022

prefix=/opt/outrider
settings=/etc/outrider
units=/etc/systemd/system
bundle=$(CDPATH='' cd -P -- "$(dirname -- "$0")" && pwd)
version=$(cat "$bundle/VERSION")

say() { printf 'outrider: %s\n' "$*"; }
fail() { printf 'outrider: %s\n' "$*" >&2 && exit 1; }

# The version that a symbolic link in the prefix names, or nothing.
version_of() { if [ -L "$prefix/$1" ]; then readlink "$prefix/$1"; fi; }

# Replaces a symbolic link in one step, so that it always leads to a complete version.
point() {
  ln -sfn "$2" "$prefix/.$1.next"
  mv -T "$prefix/.$1.next" "$prefix/$1"
}

has_systemd() { [ -d /run/systemd/system ]; }
systemd() { if has_systemd; then systemctl "$@"; fi; }

check_machine() {
  [ "$(id -u)" = 0 ] || fail "run this script as root."
  [ "$(uname -s)-$(uname -m)" = "$(cat "$bundle/MACHINE")" ] || fail "this bundle is for $(cat "$bundle/MACHINE"), and this machine is $(uname -s)-$(uname -m)."
  "$bundle/bin/outrider" --version >/dev/null || fail "the programs of this bundle do not run on this machine. See the message above."
}

# Copies this version to the prefix. A copy that was interrupted is never used, because it has another name.
copy_version() {
  [ ! -e "$prefix/$version" ] || { say "$prefix/$version exists already"; return; }
  say "copying version $version to $prefix/$version"
  mkdir -p "$prefix"
  rm -rf "$prefix/.$version.next"
  cp -R "$bundle" "$prefix/.$version.next"
  chown -R root:root "$prefix/.$version.next"
  mv -T "$prefix/.$version.next" "$prefix/$version"
}

install_units() {
  mkdir -p "$units"
  cp "$prefix/$1/systemd/"*.service "$units/"
  systemd daemon-reload
}

# Restarts the services that run.
restart() {
  for unit in outrider-server outrider-worker; do systemd try-restart "$unit.service"; done
}

# Reads NAME=value lines, as systemd does, and runs the command with these variables as the server's user. They are not
# arguments of any program, because other users can read those.
as_server() (
  export OUTRIDER_DATA_DIR=/var/lib/outrider-server
  if [ -e "$settings/server.env" ]; then
    while IFS= read -r line || [ -n "$line" ]; do
      case $line in
      [A-Za-z_]*=*) ;;
      *) continue ;;
      esac
      value=${line#*=}
      case $value in
      \"*\") value=${value#\"} value=${value%\"} ;;
      \'*\') value=${value#\'} value=${value%\'} ;;
      esac
      export "${line%%=*}=$value"
    done <"$settings/server.env"
  fi
  cd /
  exec setpriv --reuid outrider --regid outrider --init-groups "$@"
)

install_first() {
  check_machine
  [ -z "$(version_of current)" ] || fail "version $(version_of current) is installed. To replace it, run: $0 upgrade"
  id outrider >/dev/null 2>&1 || useradd --system --user-group --home-dir /var/lib/outrider-server --shell /usr/sbin/nologin outrider
  copy_version
  mkdir -p "$settings"
  for name in server worker; do
    [ -e "$settings/$name.env" ] || (umask 077 && cp "$bundle/systemd/$name.env" "$settings/$name.env")
  done
  # systemd creates this folder too. Without systemd, the server needs it.
  [ -d /var/lib/outrider-server ] || install -d -m 0700 -o outrider -g outrider /var/lib/outrider-server
  point current "$version"
  install_units "$version"
  mkdir -p /usr/local/bin
  ln -sfn "$prefix/current/bin/outrider" /usr/local/bin/outrider
  systemd enable --now outrider-server.service
  say "version $version is installed"
  has_systemd || say "systemd does not run here: start /opt/outrider/current/bin/outrider serve yourself"
}

upgrade() {
  check_machine
  old=$(version_of current)
  [ -n "$old" ] || fail "no version is installed. Run: $0 install"
  [ "$old" != "$version" ] || fail "version $version is in use already."
  copy_version
  say "migrating the database; version $old keeps running"
  as_server "$prefix/$version/bin/outrider" admin migrate ||
    fail "the migration failed and changed nothing. Version $old stays in use. See the message above."
  point previous "$old"
  point current "$version"
  install_units "$version"
  restart
  say "version $version is in use. To return to version $old, run: $prefix/current/install.sh rollback"
}

rollback() {
  [ "$(id -u)" = 0 ] || fail "run this script as root."
  old=$(version_of previous) new=$(version_of current)
  [ -n "$old" ] && [ -d "$prefix/$old" ] || fail "there is no previous version in $prefix."
  point current "$old"
  point previous "$new"
  install_units "$old"
  restart
  say "version $old is in use again. Version $new stays in $prefix/$new."
}

case ${1:-} in
install) install_first ;;
upgrade) upgrade ;;
rollback) rollback ;;
*) sed -n '2,9s/^# \{0,1\}//p' "$0" && exit 2 ;;
esac
