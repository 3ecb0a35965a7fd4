# purging tells whether a purge was asked for: it must be refused while the
# binary is there to be used. dpkg removes before it purges, and what it was asked
# for stands in its database. apt has dpkg remove and then purge, and what it was
# asked for stands on its command line alone. Of other front ends postrm learns.
purging() {
  [ "$(dpkg-query -W -f '${db:Status-Want}' plumb 2>/dev/null)" != purge ] || return 0
  pid=$PPID
  while [ "${pid:-0}" -gt 1 ]; do
    case $(cat "/proc/$pid/comm" 2>/dev/null) in
      apt | apt-get | aptitude*)
        if tr '\0' '\n' <"/proc/$pid/cmdline" | grep -qxE -e '(--)?(auto)?purge'; then return 0; fi
        ;;
    esac
    pid=$(sed -n 's/^PPid:[[:space:]]*//p' "/proc/$pid/status" 2>/dev/null)
  done
  return 1
}

[ "$1" = remove ] || exit 0

# A change on trial is taken back by the binary, when its time is over.
now=$(busy)
[ -z "$now" ] || refuse "is not removed: it is at work" "$now" "end what is listed, then remove it"

recorded || exit 0
digest=$(records) # before it is asked: a record made since is noticed
left=$(asked)

if [ -n "$left" ] && purging; then
  refuse "is not purged: only the records in $state can take this back" "$left" "run what is listed, then purge; to remove without purging keeps the records"
fi

# postrm has no binary to ask: it reads this.
umask 077
{ echo "$digest"; echo "$left"; } > "$note"
keeping "$left"
