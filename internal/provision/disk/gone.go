package disk

import (
	"strconv"

	"plumb/internal/change"
)

// unlabelled finds the labels of a pool that was not destroyed: it is exported, or has another name by now. It is known by its GUID, or
// while that was not written down by its name. Before its GUID, at fixed distances, a label has its state and its transaction, which
// is 0 on a disk that is not the pool's yet, or any more.
var unlabelled = `pool=$5 guid=$6
shift 6
` + readable + `named() { dd if="$node" bs=512 skip="$(($1 / 262144 * 512 + 32))" count=2 status=none | LC_ALL=C grep -aqF -e "$pool"; }
label() {
  words=$(od -An -v -tu8 --endian=big -w80 -j "$(($1 - 52))" -N 80 "$node") && set -- "$1" $words
  [ "$2" != 2 ] && [ "$6" != 0 ] || return 0
  [ "${11}" = "$guid" ] || { [ -z "$guid" ] && named "$1"; } || return 0
  echo "$1"
}
found=$(for part; do
  dd if="$node" bs=65536 skip="${part%:*}" count="${part#*:}" iflag=skip_bytes,count_bytes,fullblock status=none | LC_ALL=C tr '\000' '\n' |
    { LC_ALL=C grep -aboF pool_guid || [ $? = 1 ]; } | while IFS=: read -r at _; do
      at=$((${part%:*} + at))
      [ "$((at % 262144 / 1024))" != 16 ] || label "$at"
    done
done)
[ -z "$found" ] || { echo "$path has a label of the pool $pool, which is exported or has another name (zpool import): it is kept" >&2; exit ` + strconv.Itoa(change.Kept) + `; }`

// ofFile is the beginning for a file, which is nowhere else once it is not there.
const ofFile = `path=$1 node=$1
no() { echo "$path $1: it is left as it is" >&2; exit 1; }
[ -e "$node" ] || exit 0
`

// HasNoPool fails while the disk, or the file, has a label of a pool that was not destroyed. Where guid is "", a label
// of a pool of the name counts.
func (d Disk) HasNoPool(pool, guid string) change.Op {
	if d.File {
		return d.script(ofFile+unlabelled, pool, guid)
	}
	return d.script(used+unlabelled, pool, guid)
}

// IsUsed fails unless the device at hand is the disk on which something was made: where another is, nobody knows.
func (d Disk) IsUsed() change.Op { return d.script(used) }
