#!/bin/sh
set -e

plumb=/usr/bin/plumb
state=/var/lib/plumb
# What Plumb said of the host when it was removed, behind the records it was said of.
# shellcheck disable=SC2034 # of the deb alone
note=$state/leftovers

# records gives a digest of all journals and books: whether they are still those.
records() {
  find -H "$state" -type f \( -name 'change-*.journal' -o -name '*.book' \) -exec sha256sum {} + | sort | sha256sum | cut -d ' ' -f 1
}

# recorded tells whether there is any journal or book.
recorded() {
  [ -d "$state" ] && [ -n "$(find -H "$state" -type f \( -name 'change-*.journal' -o -name '*.book' \) -print | head -n 1)" ]
}

# asked lists what only Plumb can take back. What it could not tell counts as well.
asked() {
  code=0
  said=$("$plumb" leftovers 2>&1) || code=$?
  case $code in
    0) ;;
    1) echo "$said" ;;
    *) echo "plumb could not read its records: $said" ;;
  esac
}

# busy lists what Plumb still works on. A binary that cannot tell is not kept for it.
busy() {
  code=0
  said=$("$plumb" leftovers --busy 2>/dev/null) || code=$?
  [ $code != 1 ] || echo "$said"
}

# listed indents lines, if there are any.
listed() { [ -z "$1" ] || echo "$1" | sed 's/^/  /'; }

# refuse ends the script: why, what there is, what can be done.
refuse() {
  { echo "plumb $1"; listed "$2"; echo "hint: $3"; } >&2
  exit 1
}

# keeping says what stays when Plumb goes.
keeping() {
  [ -z "$1" ] && return
  echo "plumb: $state is kept. Plumb installed again can take this back:"
  listed "$1"
}
