package disk

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"

	"plumb/internal/change"
	"plumb/internal/units"
)

// Says tells, in a script, what a device says of itself: the SHA-256 of the file of its identity. That file was found by the
// name that the kernel gave the disk then; after a start of the machine it may have another, so that it is looked up by the device at hand.
const Says = `says() {
  dir=$(readlink -f -- "/sys/class/block/${1##*/}")
  [ ! -e "$dir/partition" ] || dir=${dir%/*}
  sha256sum <"$dir/${2#*/}" | cut -d ' ' -f 1
}
`

// proof is what the act itself looks at once more, just before it writes: that the device is the one
// that was looked at, of its size, not held by another, and zero at both ends. Its arguments are
// the path, where its identity is read and the digest of that, its size in bytes, "erase"
// where what is there may be lost, and the parts that are read: from which byte, and how many.
const proof = Says + `path=$1 of=$2 digest=$3 size=$4 erase=$5
shift 5
node=$(readlink -f -- "$path")
name=${node##*/}
no() { echo "$path $1: nothing was written to it" >&2; exit 1; }
[ -b "$node" ] || no "no longer exists"
[ "/sys/class/block/${of%%/*}" -ef "/sys/class/block/$name" ] || [ "/sys/class/block/${of%%/*}/$name" -ef "/sys/class/block/$name" ] || no "leads to another disk than the one that was checked"
[ "$(says "$node" "$of")" = "$digest" ] || no "is not the disk that was checked"
[ $(($(cat "/sys/class/block/$name/size") * 512)) = "$size" ] || no "has another size than when it was checked"
[ -z "$(ls -A "/sys/class/block/$name/holders")" ] || no "is held by another device"
! awk '{print $1}' /proc/self/mounts /proc/swaps | grep -qxF -e "$node" -e "$path" || no "is mounted or swap"
if [ "$erase" = erase ]; then
  wipefs -a -q "$node" || no "cannot be opened exclusively"
  for part; do dd if=/dev/zero of="$node" bs=65536 seek="${part%:*}" count="${part#*:}" iflag=count_bytes,fullblock oflag=seek_bytes conv=notrunc,fsync status=none; done
fi
for part; do cmp -n "${part#*:}" -i "0:${part%:*}" /dev/zero "$node" >/dev/null || no "is no longer empty"; done`

// Proof is what an act does first of all to a disk; of one that may be erased it makes both ends zero.
func (d Disk) Proof() change.Op {
	if d.Erases() {
		return d.script(proof, "erase")
	}
	return d.script(proof, "")
}

// Proves tells which disk an operation looks at before something is made on it, by what the disk says of itself and by its size, and
// whether it erases what is there. "": it is another operation.
func Proves(op change.Op) (which string, erases bool) {
	if len(op.Argv) < 9 || hex.DecodedLen(len(op.Argv[6])) != sha256.Size {
		return "", false
	}
	return op.Argv[6] + " " + op.Argv[7], op.Argv[8] == "erase"
}

// ByHand says what makes the disk of such an operation an empty one, for a person who does not need what is on it.
func ByHand(proves change.Op) string {
	var parts []stretch
	for _, word := range proves.Argv[min(9, len(proves.Argv)):] {
		var p stretch
		if _, err := fmt.Sscanf(word, "%d:%d", &p.at, &p.bytes); err == nil {
			parts = append(parts, p)
		}
	}
	if len(parts) < 2 {
		return ""
	}
	return byHand(proves.Argv[4], parts)
}

// byHand names both ends, and where the copy of a superblock may be.
func byHand(path string, parts []stretch) string {
	zero := fmt.Sprintf("its first %s and last %s", units.Bytes(parts[0].bytes), units.Bytes(parts[1].bytes))
	for _, p := range parts[2:] {
		zero += fmt.Sprintf(", and %s from byte %d on,", units.Bytes(p.bytes), p.at)
	}
	return fmt.Sprintf("wipefs -a %s, then make %s zero", path, zero)
}

func (d Disk) script(text string, words ...string) change.Op {
	argv := append([]string{"sh", "-ec", text, "sh", d.Spec.Path, d.Identity, d.Digest, strconv.FormatInt(d.Size, 10)}, words...)
	for _, p := range d.parts() {
		argv = append(argv, fmt.Sprintf("%d:%d", p.at, p.bytes))
	}
	return change.Op{Argv: argv}
}
