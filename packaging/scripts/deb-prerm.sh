
[ "$1" = remove ] || exit 0

# A change on trial is taken back by the binary, when its time is over.
now=$(busy)
[ -z "$now" ] || refuse "is not removed: it is at work" "$now" "end what is listed, then remove it"

recorded || exit 0
digest=$(records) # before it is asked: a record made since is noticed
left=$(asked)

# dpkg removes before it purges. What it was asked for stands in its database, so
# that a purge can be refused while the binary is there to be used. apt asks for
# the two one after the other: then postrm refuses.
if [ -n "$left" ] && [ "$(dpkg-query -W -f '${db:Status-Want}' plumb 2>/dev/null)" = purge ]; then
  refuse "is not purged: only the records in $state can take this back" "$left" "run what is listed, then purge; to remove without purging keeps the records"
fi

# postrm has no binary to ask: it reads this.
umask 077
{ echo "$digest"; echo "$left"; } > "$note"
keeping "$left"
