
[ "$1" = purge ] && [ -d "$state" ] || exit 0

again="install plumb again, run what is listed, then purge"
if recorded; then
  [ -f "$note" ] || refuse "is not purged: nobody asked it what the records in $state can take back" "" "install plumb again, then purge"
  [ "$(head -n 1 "$note")" = "$(records)" ] || refuse "is not purged: the records in $state have changed since it was removed" "" "install plumb again, then purge"
  left=$(tail -n +2 "$note")
  [ -z "$left" ] || refuse "is not purged: only the records in $state can take this back" "$left" "$again"
fi
rm -rf --one-file-system "$state"
