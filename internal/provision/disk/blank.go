package disk

import (
	"regexp"
	"strconv"
	"strings"

	"plumb/internal/change"
)

// used begins what is done to a disk on which something was made: the device at hand is that disk. Of one that tells no serial
// number nothing is known after a start of the machine: there what is read on it counts.
const used = Says + `path=$1 of=$2 digest=$3
node=$(readlink -f -- "$path")
no() { echo "$path $1: it is left as it is" >&2; exit 1; }
[ -b "$node" ] && { [ "${of##*/}" = diskseq ] || [ "$(says "$node" "$of")" = "$digest" ]; } || no "is not the disk that was used"
`

// forget opens the disk for itself alone: one that is in use is left as it is.
const forget = used + `wipefs -a -q "$node" || no "is in use"`

// readable reads the parts to their ends: where that fails, nothing is known of what is there.
const readable = `for part; do dd if="$node" of=/dev/null bs=65536 skip="${part%:*}" count="${part#*:}" iflag=skip_bytes,count_bytes,fullblock status=none || no "cannot be read"; done
`

// Forget takes from a disk what says that there is a filesystem on it, whose UUID was read just before.
func (d Disk) Forget() change.Op { return d.script(forget) }

// blank makes both ends zero again, as they were proven to be, once what was made there is gone. Others may have come since, when
// this goes on where another was killed: it wants to see what is left of what was made, and nothing else, on the disk and on its
// partitions. Its arguments after the size are the signatures that may be there, what ours looks for, and the parts.
const blank = `kinds=$5 made=$6
shift 6
zero() { for part; do cmp -n "${part#*:}" -i "0:${part%:*}" /dev/zero "$node" >/dev/null || return 1; done; }
! zero "$@" || exit 0
` + readable + `ours "$@" || no "does not have the remains of what was made there, or has more"
name=${node##*/}
for dev in "$node" "/sys/class/block/$name/$name"*; do
  [ "$dev" = "$node" ] || [ -e "$dev/partition" ] || continue
  found=$(wipefs -p -- "/dev/${dev##*/}") || no "cannot be looked at"
  for kind in $(printf '%s\n' "$found" | sed '/^#/d; s/.*,//'); do
    case " $kinds " in *" $kind "*) ;; *) no "has a signature of $kind now" ;; esac
  done
done
wipefs -a -q "$node" || no "is in use"
for part; do dd if=/dev/zero of="$node" bs=65536 seek="${part%:*}" count="${part#*:}" iflag=count_bytes,fullblock oflag=seek_bytes conv=notrunc,fsync status=none; done`

// oursByUUID looks for the UUID of a filesystem, which stands there after its signature is gone, until its block is zero.
const oursByUUID = used + `ours() { [ "$(od -An -v -tx1 -j "${made%:*}" -N 16 "$node" | tr -d ' \n')" = "${made#*:}" ]; }
`

// BlankFilesystem takes back what a filesystem has left of itself once it is forgotten. at is where on the disk its UUID is.
func (d Disk) BlankFilesystem(kind, uuid string, at int64) change.Op {
	return d.script(oursByUUID+blank, kind, strconv.FormatInt(at, 10)+":"+strings.ReplaceAll(uuid, "-", ""))
}

// oursByLabels looks at all labels of ZFS, of which there must be one at least: each is of a pool of the name and in one of the states
// that are asked for; or of a cache device, whose label names no pool, and which has only copies. A label begins
// at a multiple of 256 KiB, also on a partition that ZFS made, and its list of names and values (XDR) 16 KiB later: each makes a line
// of it. To be looked for as text, its bytes that are none are written as digits and signs.
const oursByLabels = used + `labels() {
  pattern=$1
  shift
  for part; do
    end=$((${part%:*} + ${part#*:}))
    from=$(((${part%:*} + 262143) / 262144 * 262144))
    [ "$from" -lt "$end" ] || continue
    dd if="$node" bs=65536 skip="$from" count="$((end - from))" iflag=skip_bytes,count_bytes,fullblock status=none |
      LC_ALL=C tr '\000\001\002\003\004\005\010\011\012' '@1234589~' | LC_ALL=C fold -b -w 262144 | LC_ALL=C cut -b 16385-20480 |
      { LC_ALL=C grep -acE -e "$pattern" || [ $? = 1 ]; }
  done
}
ours() {
  all=$(labels '` + stateOf + `.' "$@")
  [ "$all" = "$(labels "$made" "$@")" ] && printf '%s\n' "$all" | grep -qv '^0$'
}
`

// What a label has after a pool's name, with the length of what comes next wherever it is not looked at. ZFS cannot write to a device
// that is offline when it is removed: its label goes on calling it an active log device.
const (
	stateOf     = `@@@5state@@@@@@8@@@1@@@@@@@`
	destroyed   = `2`
	inNoTxg     = `@.{8}@@@3txg@@@@8@@@1@@@@@@@@` // active, and written in no transaction: no release imports it
	aLog        = `@.{8}@@@3txg.{1,900}@@@.is_log@@@@@8@@@1@@@@@@@1`
	cacheDevice = stateOf + `4`
)

// BlankPool takes back what a pool has left on one of its disks once it is destroyed.
func (d Disk) BlankPool(pool string) change.Op { return d.blankLabels(pool, destroyed, inNoTxg) }

// BlankRemoved takes back what is left on a log or cache device once its pool, which is still there, does not have it any more.
func (d Disk) BlankRemoved(pool string) change.Op {
	return d.blankLabels(pool, destroyed, inNoTxg, aLog)
}

func (d Disk) blankLabels(pool string, states ...string) change.Op {
	name := `@@@4name@@@9@@@1@@@.` + regexp.QuoteMeta(pool) + `@{0,3}.{8}`
	return d.script(oursByLabels+blank, "zfs_member gpt PMBR", `(`+name+stateOf+`(`+strings.Join(states, "|")+`)|`+cacheDevice+`)`)
}
