package host

import (
	"slices"
	"strings"
)

// readingCommandList names the commands that only read, one a line.
//
//	?         one argument that is no option and holds no "="
//	a|b       one of these words
//	...       any further arguments
//	not -x    but none of these options, alone, with "=value" or among
//	          bundled letters
//
// Before adding a line, read the command's manual page for options that
// write, run other programs or reach other hosts (zpool status -c runs
// scripts, sysctl writes when it sees "=", systemctl -H opens ssh), and check
// that it opens nothing for writing (strace), as blkid and mysqld --help do.
const readingCommandList = `
zfs list|get ...
zfs version|--version
zpool list|get ...
zpool version|--version
zpool status|iostat ... not -c
zpool upgrade
zdb -C
uname ?
uname -a|-r|-s|-m|-v|-n|-p|-o
getconf ?
head -c ? ?
ldd --version
nvme list|list-subsys ...
nvme smart-log|id-ctrl|id-ns|error-log ...
nvme version
smartctl -j -a|-x|-i|-H|-A ?
smartctl -n standby -j -H -A ?
smartctl -a|-x|-i|-H|-A ?
xfs_info ?
xfs_info -V
tune2fs -l ?
dumpe2fs -h ?
btrfs filesystem show|usage|df ...
btrfs subvolume list|show ...
btrfs device stats ?
btrfs --version
lsattr -d ...
lsblk ...
findmnt ...
losetup --list|--all|--json
losetup --list --json
blockdev --getra|--getss|--getpbsz|--getsize64|--getro ?
dmsetup table|info|ls|deps ... not --showkeys --exec
dmsetup status --noflush ... not --exec
lvs|vgs|pvs --reportformat json --readonly ... not --config --profile --commandprofile --metadataprofile --driverloaded
mdadm --detail|--examine ?
mdadm --detail --export ?
cryptsetup status ?
multipath -ll
systemctl show|cat|is-active|is-enabled ... not -H --host -M --machine
systemctl list-units|list-unit-files|list-timers ... not -H --host -M --machine
systemd-detect-virt
systemd-detect-virt --vm|--container
timedatectl show|show-timesync
chronyc -n|-c tracking|sources
chronyc -n -c tracking|sources
ntpq -pn
getenforce
sestatus
aa-status
aa-status --json
tuned-adm active
numactl --hardware|-H
lscpu ...
modinfo ...
dpkg-query -W ...
rpm -q ?
sysctl -n ?
sysctl -n -e ?
postgres -C ?
postgres -C ? -D ?
postgres -D ? -C ?
postgres|psql|pg_ctl --version|-V
pg_config ...
pg_controldata ?
pg_controldata -D ?
mysqld|mariadbd|mysql|mariadb|mysqladmin --version|-V
my_print_defaults ... not -s --show
mongod|mongos|mongosh --version
proxysql --version
xtrabackup|mariabackup|mariadb-backup --version
`

// commandPattern is one line of the list.
type commandPattern struct {
	words []string // alternatives divided by "|"; "?" for an argument
	more  bool     // "..."
	not   []string
}

func readingCommands() []commandPattern { return parseCommands(readingCommandList) }

func parseCommands(list string) []commandPattern {
	var patterns []commandPattern
	for line := range strings.Lines(list) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		var p commandPattern
		if i := slices.Index(words, "not"); i >= 0 {
			words, p.not = words[:i], words[i+1:]
		}
		if words[len(words)-1] == "..." {
			words, p.more = words[:len(words)-1], true
		}
		p.words = words
		patterns = append(patterns, p)
	}
	return patterns
}

// match reports whether the pattern allows the command. name is argv[0]
// without its directory.
func (p commandPattern) match(name string, args []string) bool {
	if len(args) < len(p.words)-1 || (len(args) > len(p.words)-1 && !p.more) {
		return false
	}
	for i, word := range p.words {
		got := name
		if i > 0 {
			got = args[i-1]
		}
		if !matchWord(word, got) {
			return false
		}
	}
	for _, arg := range args {
		if strings.ContainsRune(arg, 0) || slices.ContainsFunc(p.not, func(option string) bool { return isOption(arg, option) }) {
			return false
		}
	}
	return true
}

func matchWord(word, got string) bool {
	if word == "?" {
		return got != "" && !strings.HasPrefix(got, "-") && !strings.Contains(got, "=")
	}
	return slices.Contains(strings.Split(word, "|"), got)
}

// isOption reports whether arg could be read as the option: getopt_long takes
// abbreviations of long options, and short ones may be bundled.
func isOption(arg, option string) bool {
	if long, ok := strings.CutPrefix(option, "--"); ok {
		name, _, _ := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
		return strings.HasPrefix(arg, "--") && name != "" && strings.HasPrefix(long, name)
	}
	return len(arg) > 1 && arg[0] == '-' && arg[1] != '-' && strings.Contains(arg, option[1:])
}
