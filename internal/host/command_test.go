package host

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func allowed(line string) bool {
	argv := strings.Fields(line)
	return slices.ContainsFunc(readingCommands(), func(p commandPattern) bool { return p.match(filepath.Base(argv[0]), argv[1:]) })
}

func TestReadingCommands(t *testing.T) {
	for _, line := range []string{
		"zfs list -Hp -o name,used -t all", "zfs get -Hp all tank/db", "zfs get -j -p all", "zfs allow tank/db", "zpool status -P tank", "zpool list -Hpv", "zpool get all tank",
		"zpool iostat -Hp 1 2", "uname -r", "getconf GNU_LIBC_VERSION", "sysctl -n vm.swappiness", "nvme smart-log /dev/nvme0 -o json",
		"xfs_spaceman -c info /srv", "tune2fs -l /dev/sda1", "lvs --reportformat json --readonly -o +devices", "/usr/lib/postgresql/15/bin/postgres -C port -D /d",
		"mysqld --version", "systemctl show mariadb.service -p LimitNOFILE", "btrfs filesystem usage -b /srv", "lsblk -J -b", "dmsetup table",
		"dmsetup status --noflush --target thin-pool", "smartctl -n standby -j -H -A /dev/sda", "cmp -n 512 -i 0:1 /dev/zero /dev/sda",
		"od -An -v -tx1 -w128 -j 0 -N 1 /dev/sda", "stat -c %U /srv", "find /srv -maxdepth 1 -name x -printf %i", "matchpathcon -n /srv",
	} {
		if !allowed(line) {
			t.Errorf("refused: %s", line)
		}
	}
	for _, line := range []string{
		"zfs set x=y tank", "zfs allow everyone mount tank", "zfs allow -e mount tank", "zfs destroy tank", "zpool status -c evil", "zpool status -vc evil", "zpool iostat -c evil", "zpool scrub tank", "zpool upgrade -a",
		"sysctl -n vm.swappiness=0", "sysctl -w vm.swappiness=0", "nvme format /dev/nvme0", "tune2fs -O x /dev/sda1", "xfs_info /srv", "xfs_spaceman -c trim /srv", "btrfs device stats -z /srv",
		"systemctl stop mariadb", "systemctl show x -H evil", "systemctl show x --host=evil", "systemctl show x --ho evil", "lvs -o x", "lvremove x",
		"lvs --reportformat json --readonly --config x", "dmsetup table --showkeys", "dmsetup table --showk", "dmsetup remove x", "dmsetup status", "dmsetup ls --exec reboot", "mysqld --verbose --help", "mysqld",
		"postgres -D /d", "mdadm --stop /dev/md0", "sh -c x", "bash", "uname -r x", "uname", "losetup -d /dev/loop0", "smartctl -t long /dev/sda", "find /srv -delete", "find /srv -maxdepth 1 -name x -delete", "matchpathcon -f x /srv",
	} {
		if allowed(line) {
			t.Errorf("allowed: %s", line)
		}
	}
	if allowed("xfs_spaceman -c info /srv") && slices.ContainsFunc(readingCommands(), func(p commandPattern) bool { return p.match("xfs_spaceman", []string{"-c", "info", "a\x00b"}) }) {
		t.Error("allowed: an argument with a NUL byte")
	}
}

func TestProgramsOthersCanChangeAreNotRun(t *testing.T) {
	dir := t.TempDir()
	script := write(t, dir+"/bin/uname", "#!/bin/sh\necho ran\n")
	must(t, os.Chmod(script, 0o755))
	l := newTestLive(t, LiveOptions{})
	ctx := context.Background()
	if out, err := l.Output(ctx, script, "-s"); err != nil || string(out) != "ran\n" {
		t.Errorf("our own program: %q, %v", out, err)
	}
	if _, err := l.Output(ctx, dir+"/bin/none", "-s"); !errors.Is(err, ErrRefused) {
		t.Errorf("not on the list: %v", err)
	}
	if _, err := l.Output(ctx, dir+"/none/uname", "-s"); !errors.Is(err, ErrNoCommand) {
		t.Errorf("no such program: %v", err)
	}
	if _, err := l.Output(ctx, "bin/uname", "-s"); !errors.Is(err, ErrRefused) {
		t.Errorf("a relative path: %v", err)
	}
	for _, name := range []string{script, dir + "/bin"} {
		before, err := os.Stat(name)
		must(t, err)
		must(t, os.Chmod(name, 0o777))
		if _, err := l.Output(ctx, script, "-s"); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "other users can change") {
			t.Errorf("%s is open to all: %v", name, err)
		}
		must(t, os.Chmod(name, before.Mode()))
	}
	if os.Geteuid() == 0 {
		must(t, os.Chown(script, 1234, 1234))
		if _, err := l.Output(ctx, script, "-s"); !errors.Is(err, ErrRefused) {
			t.Errorf("another user's program: %v", err)
		}
	}
}

func TestChildrenHaveACleanEnvironment(t *testing.T) {
	t.Setenv("ZPOOL_SCRIPTS_PATH", "/evil")
	t.Setenv("LC_ALL", "de_DE.UTF-8")
	l := newTestLive(t, LiveOptions{})
	l.commands = append(l.commands, parseCommands("env")...)
	out, err := l.Output(context.Background(), "env")
	if err != nil || strings.Contains(string(out), "evil") || !strings.Contains(string(out), "LC_ALL=C\n") {
		t.Errorf("%s, %v", out, err)
	}
}
