package guard

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plumb/internal/change"
	"plumb/internal/host"
	"plumb/internal/host/chroot"
	"plumb/internal/host/hosttest"
	"plumb/internal/stack"
)

// root is a directory as a machine, with a journal: files are real, nothing runs.
type root struct {
	t   *testing.T
	dir string
	h   host.Doer
	k   *change.Executor
}

func newRoot(t *testing.T, files map[string]string) *root {
	t.Helper()
	dir := t.TempDir()
	files = maps.Clone(files)
	if files == nil {
		files = map[string]string{}
	}
	for _, program := range []string{"semanage", "apparmor_parser", "matchpathcon", "restorecon"} {
		files["/usr/sbin/"+program] = ""
	}
	for name, text := range files {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	live := hosttest.LiveDoer(t)
	h := chroot.New(live, dir)
	return &root{t, dir, h, change.NewExecutor(h, "test")}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (r *root) apply(acts []change.Act) int {
	r.t.Helper()
	step := change.Prepared{Step: change.Step{Knob: stack.Knob{Of: stack.Ref{Kind: "host", Name: "here"}, Name: "guards"}}, Recipe: change.Recipe{Acts: acts}}
	out, err := r.k.Apply(context.Background(), change.Draft{Steps: []change.Prepared{step}}, change.ApplyOptions{Begin: change.Begin{Host: "here"}})
	must(r.t, err)
	return out.Number
}

// files gives the texts of the files below /etc.
func (r *root) files() map[string]string {
	all := map[string]string{}
	must(r.t, filepath.WalkDir(r.dir+"/etc", func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		all[strings.TrimPrefix(name, r.dir)] = string(text)
		return err
	}))
	return all
}

func (r *root) undone(number int, before map[string]string) {
	r.t.Helper()
	must(r.t, r.k.Undo(context.Background(), []int{number}, change.UndoOptions{}))
	if after := r.files(); fmt.Sprint(after) != fmt.Sprint(before) {
		r.t.Errorf("undone, the files are\n%v\nand were\n%v", after, before)
	}
}

const aUnit = "[Unit]\nDescription=A server\n[Service]\nExecStart=/bin/true\n"

func TestMountsAreWaitedFor(t *testing.T) {
	r := newRoot(t, map[string]string{"/etc/systemd/system/mariadb.service": aUnit})
	before := r.files()
	acts, err := Mounts(context.Background(), r.h, "mariadb.service", []string{"/tank/mysql", "/tank/mysql-log"}, true)
	must(t, err)
	number := r.apply(acts)
	if again, err := Mounts(context.Background(), r.h, "mariadb.service", []string{"/tank/mysql", "/tank/mysql-log"}, true); err != nil || again != nil {
		t.Errorf("done, it has still to do %v, %v", again, err)
	}
	text := r.files()["/etc/systemd/system/mariadb.service.d/zz-plumb-mount-tank-mysql.conf"]
	for _, line := range []string{"[Unit]", "RequiresMountsFor=/tank/mysql", "AssertPathIsMountPoint=/tank/mysql", "After=zfs-mount.service", "Wants=zfs-mount.service"} {
		if !slices.Contains(strings.Split(text, "\n"), line) {
			t.Errorf("the drop-in has no line %q:\n%s", line, text)
		}
	}
	// What systemd makes of it.
	if _, err := exec.LookPath("systemd-analyze"); err == nil {
		units := r.dir + "/etc/systemd/system"
		out, err := verify(units, "mariadb.service")
		if err != nil || strings.Contains(out, "zz-plumb") {
			t.Errorf("systemd-analyze verify: %v\n%s", err, out)
		}
		drop := filepath.Join(units, "mariadb.service.d/zz-plumb-mount-tank-mysql.conf")
		must(t, os.WriteFile(drop, []byte(strings.Replace(text, "RequiresMountsFor=", "RequiresMountFor=", 1)), 0o644))
		if out, _ := verify(units, "mariadb.service"); !strings.Contains(out, "RequiresMountFor") {
			t.Errorf("systemd-analyze says nothing of a wrong drop-in, so it does not read it:\n%s", out)
		}
		must(t, os.WriteFile(drop, []byte(text), 0o644))
	}
	r.undone(number, before)
}

func verify(units, unit string) (string, error) {
	c := exec.Command("systemd-analyze", "verify", "--man=no", filepath.Join(units, unit))
	c.Env = append(os.Environ(), "SYSTEMD_UNIT_PATH="+units+":/usr/lib/systemd/system:/lib/systemd/system")
	out, err := c.CombinedOutput()
	return string(out), err
}

func TestHostileNamesAreRefused(t *testing.T) {
	r := newRoot(t, map[string]string{"/sys/module/apparmor/parameters/enabled": "Y\n", "/sys/fs/selinux/enforce": "1", "/etc/selinux/config": "SELINUXTYPE=targeted\n",
		"/etc/apparmor.d/usr.sbin.mysqld": "/usr/sbin/mysqld {\n #include <local/usr.sbin.mysqld>\n}\n"})
	ctx := context.Background()
	for _, dir := range []string{"relative", "/", "/a/../b", "/a b", "/a\n[Service]\nExecStart=/x", "/a%n", "/**", "/a{b,c}", `/a"`} {
		if acts, err := Mounts(ctx, r.h, "mariadb.service", []string{dir}, false); err == nil {
			t.Errorf("Mounts takes %q: %v", dir, acts)
		}
		if acts, err := AppArmor(ctx, r.h, "/usr/sbin/mysqld", []string{dir}); err == nil {
			t.Errorf("AppArmor takes %q: %v", dir, acts)
		}
		if acts, err := SELinux(ctx, r.h, "mysqld_db_t", []string{dir}); err == nil {
			t.Errorf("SELinux takes %q: %v", dir, acts)
		}
	}
	for _, unit := range []string{"../../x.service", "a/b.service", "mariadb", "a\n.service"} {
		if _, err := Mounts(ctx, r.h, unit, []string{"/a"}, false); err == nil {
			t.Errorf("Mounts takes the unit %q", unit)
		}
	}
	for _, pool := range []string{"-f", "a b", "a/b", ""} {
		if _, _, err := PoolTimers(ctx, r.h, pool, Disks{Trims: true}); err == nil {
			t.Errorf("PoolTimers takes the pool %q", pool)
		}
	}
}

// The profile is Ubuntu's of MySQL, shortened.
const profile = `#include <tunables/global>
/usr/sbin/mysqld {
  #include <abstractions/base>
  /var/lib/mysql/ r,
  /var/lib/mysql/** rwk,
  # Site-specific additions and overrides. See local/README for details.
  #include <local/usr.sbin.mysqld>
}
`

func TestAppArmorLetsTheServerIn(t *testing.T) {
	on := map[string]string{"/sys/module/apparmor/parameters/enabled": "Y\n", "/etc/apparmor.d/usr.sbin.mysqld": profile,
		"/etc/apparmor.d/local/usr.sbin.mysqld": "# by hand\n/srv/x r,\n"}
	r := newRoot(t, on)
	before := r.files()
	acts, err := AppArmor(context.Background(), r.h, "/usr/sbin/mysqld", []string{"/tank/mysql"})
	must(t, err)
	for _, a := range acts {
		if got := a.Edit.Apply.String(); got != "apparmor_parser -r /etc/apparmor.d/usr.sbin.mysqld" {
			t.Errorf("the profile is loaded by %s", got)
		}
		a.Edit.Apply = nil // nothing runs in a directory
	}
	number := r.apply(acts)
	if got := r.files()["/etc/apparmor.d/local/usr.sbin.mysqld"]; got != "# by hand\n/srv/x r,\n/tank/mysql/ r,\n/tank/mysql/** rwk,\n" {
		t.Errorf("the local part is\n%s", got)
	}
	if again, err := AppArmor(context.Background(), r.h, "/usr/sbin/mysqld", []string{"/tank/mysql"}); err != nil || again != nil {
		t.Errorf("done, it has still to do %v, %v", again, err)
	}
	r.undone(number, before)
	for what, files := range map[string]map[string]string{
		"it is off":                      {"/sys/module/apparmor/parameters/enabled": "N\n", "/etc/apparmor.d/usr.sbin.mysqld": profile},
		"the kernel has none":            {"/etc/apparmor.d/usr.sbin.mysqld": profile},
		"there is no profile":            {"/sys/module/apparmor/parameters/enabled": "Y\n"},
		"Debian's of MariaDB is comment": {"/sys/module/apparmor/parameters/enabled": "Y\n", "/etc/apparmor.d/usr.sbin.mysqld": "# This file is intentionally empty\n"},
	} {
		if acts, err := AppArmor(context.Background(), newRoot(t, files).h, "/usr/sbin/mysqld", []string{"/tank/mysql"}); err != nil || acts != nil {
			t.Errorf("%s: %v, %v", what, acts, err)
		}
	}
	files := map[string]string{"/sys/module/apparmor/parameters/enabled": "Y\n", "/etc/apparmor.d/usr.sbin.mysqld": "/usr/sbin/mysqld {\n}\n"}
	if acts, err := AppArmor(context.Background(), newRoot(t, files).h, "/usr/sbin/mysqld", []string{"/tank/mysql"}); err == nil {
		t.Errorf("a profile without a local part: %v", acts)
	}
}

// Debian's profile of MariaDB has a name of its own since 11.8.6; the older one may be beside it, and says nothing.
func TestAppArmorFindsAProfileByTheProgramsName(t *testing.T) {
	r := newRoot(t, map[string]string{"/sys/module/apparmor/parameters/enabled": "Y\n", "/etc/apparmor.d/usr.sbin.mariadbd": "# This file is intentionally empty\n",
		"/etc/apparmor.d/mariadbd": "include <tunables/global>\nprofile mariadbd /usr/sbin/mariadbd flags=(attach_disconnected) {\n  include if exists <local/mariadbd>\n}\n"})
	acts, err := AppArmor(context.Background(), r.h, "/usr/sbin/mariadbd", []string{"/tank/mysql"})
	must(t, err)
	if len(acts) != 2 || acts[0].Edit.File != "/etc/apparmor.d/local/mariadbd" || acts[0].Edit.Apply.String() != "apparmor_parser -r /etc/apparmor.d/mariadbd" {
		t.Errorf("%+v", acts)
	}
}

// Nothing here runs SELinux: what would be run is compared as text.
func TestSELinuxLabelsDirectories(t *testing.T) {
	r := newRoot(t, map[string]string{"/sys/fs/selinux/enforce": "1", "/etc/selinux/config": "SELINUX=enforcing\nSELINUXTYPE=targeted\n",
		"/etc/selinux/targeted/contexts/files/file_contexts.local": "/tank/my\\.sql(/.*)?    system_u:object_r:var_t:s0\n"})
	acts, err := SELinux(context.Background(), r.h, "mysqld_db_t", []string{"/tank/my.sql"})
	must(t, err)
	if len(acts) != 1 {
		t.Fatalf("%d acts", len(acts))
	}
	w := acts[0].Switch
	for name, c := range map[string]struct {
		ops  []change.Op
		want string
	}{
		"do": {w.Do, `semanage fcontext -a -t mysqld_db_t '/tank/my\.sql(/.*)?'; restorecon -R -F /tank/my.sql`},
		// What lies there is not labelled anew: it is copied back with its labels.
		"undo":      {w.Undo, `semanage fcontext -m -t '{before}' '/tank/my\.sql(/.*)?'`},
		"undo none": {w.UndoNone, `semanage fcontext -d '/tank/my\.sql(/.*)?'`},
	} {
		var all []string
		for _, o := range c.ops {
			all = append(all, o.String())
		}
		if got := strings.Join(all, "; "); got != c.want {
			t.Errorf("%s: %s", name, got)
		}
	}
	r = newRoot(t, map[string]string{"/sys/fs/selinux/enforce": "1", "/etc/selinux/config": "SELINUXTYPE=targeted\n",
		"/etc/selinux/targeted/contexts/files/file_contexts.local": "/tank/my\\.sql(/.*)?    system_u:object_r:mysqld_db_t:s0\n"})
	if again, err := SELinux(context.Background(), r.h, "mysqld_db_t", []string{"/tank/my.sql"}); err != nil || again != nil {
		t.Errorf("labelled, it has still to do %v, %v", again, err)
	}
	off, err := SELinux(context.Background(), newRoot(t, nil).h, "mysqld_db_t", []string{"/tank/mysql"})
	if err != nil || off != nil {
		t.Errorf("without SELinux: %v, %v", off, err)
	}
}

// What an act needs is looked for before anything is done: without it the data would have been moved, and be moved back.
func TestWhatIsNeededIsLookedFor(t *testing.T) {
	files := map[string]string{"/sys/module/apparmor/parameters/enabled": "Y\n", "/etc/apparmor.d/usr.sbin.mysqld": profile, "/sys/fs/selinux/enforce": "1", "/etc/selinux/config": "SELINUXTYPE=targeted\n"}
	h := hosttest.Map{Files: files}
	if acts, err := AppArmor(t.Context(), h, "/usr/sbin/mysqld", []string{"/tank/mysql"}); err == nil || !strings.Contains(err.Error(), "apparmor_parser is not installed") {
		t.Errorf("%v, %v", acts, err)
	}
	for _, program := range []string{"matchpathcon", "semanage", "restorecon"} {
		if acts, err := SELinux(t.Context(), h, "mysqld_db_t", []string{"/tank/mysql"}); err == nil || !strings.Contains(err.Error(), program+" is not installed") {
			t.Errorf("%v, %v", acts, err)
		}
		files["/usr/sbin/"+program] = ""
	}
	delete(files, "/usr/sbin/semanage")
	files["/etc/apparmor.d/local/usr.sbin.mysqld"] = "/tank/mysql/ r,\n/tank/mysql/** rwk,\n"
	files["/etc/selinux/targeted/contexts/files/file_contexts.local"] = "/tank/mysql(/.*)?    system_u:object_r:mysqld_db_t:s0\n"
	if acts, err := AppArmor(t.Context(), h, "/usr/sbin/mysqld", []string{"/tank/mysql"}); err != nil || acts != nil {
		t.Errorf("there is nothing to do: %v, %v", acts, err)
	}
	if acts, err := SELinux(t.Context(), h, "mysqld_db_t", []string{"/tank/mysql"}); err != nil || acts != nil {
		t.Errorf("there is nothing to do: %v, %v", acts, err)
	}
}

// What the policy says already, as it does of the packages' own directories, is not entered a second time.
func TestSELinuxFollowsThePolicy(t *testing.T) {
	files := map[string]string{"/sys/fs/selinux/enforce": "1", "/etc/selinux/config": "SELINUXTYPE=targeted\n", "/usr/sbin/semanage": "", "/usr/sbin/restorecon": ""}
	for says, want := range map[string]string{
		"system_u:object_r:mysqld_db_t:s0\n": "restorecon -R -F /var/lib/mysql",
		"system_u:object_r:var_lib_t:s0\n":   "semanage fcontext -a -t mysqld_db_t '/var/lib/mysql(/.*)?'",
		"<<none>>\n":                         "semanage fcontext -a -t mysqld_db_t '/var/lib/mysql(/.*)?'",
	} {
		h := hosttest.Map{Files: files, Outputs: map[string]string{"matchpathcon -n /var/lib/mysql": says}}
		acts, err := SELinux(t.Context(), h, "mysqld_db_t", []string{"/var/lib/mysql"})
		if err != nil || len(acts) != 1 || acts[0].Switch.Do[0].String() != want {
			t.Errorf("%s: %+v, %v", says, acts, err)
		}
	}
}

func TestTimersAreNotDoubled(t *testing.T) {
	timers := map[string]string{"/usr/lib/systemd/system/zfs-scrub-monthly@.timer": "", "/usr/lib/systemd/system/zfs-trim-weekly@.timer": ""}
	with := func(more map[string]string) map[string]string {
		all := map[string]string{}
		for _, m := range []map[string]string{timers, more} {
			for k, v := range m {
				all[k] = v
			}
		}
		return all
	}
	const cron, debians = "/etc/cron.d/zfsutils-linux", "24 0 1-7 * * root [ ] && /usr/lib/zfs-linux/trim\n24 0 8-14 * * root /usr/lib/zfs-linux/scrub\n"
	for _, c := range []struct {
		what  string
		files map[string]string
		disks Disks
		want  string
	}{
		{"OpenZFS's own", timers, Disks{Trims: true}, "zfs-scrub-monthly@tank.timer zfs-trim-weekly@tank.timer"},
		{"no disk takes a trim", timers, Disks{}, "zfs-scrub-monthly@tank.timer"},
		{"Debian's cron", with(map[string]string{cron: debians, "/usr/sbin/cron": ""}), Disks{true, true}, ""},
		{"cron that is commented out", with(map[string]string{"/usr/sbin/cron": "", cron: "# 24 0 8-14 * * root /usr/lib/zfs-linux/scrub\n"}), Disks{}, "zfs-scrub-monthly@tank.timer"},
		{"a timer that somebody chose", with(map[string]string{"/etc/systemd/system/timers.target.wants/zfs-scrub-weekly@tank.timer": ""}), Disks{}, ""},
		{"that of another pool", with(map[string]string{"/etc/systemd/system/timers.target.wants/zfs-scrub-weekly@other.timer": ""}), Disks{}, "zfs-scrub-monthly@tank.timer"},
		{"Debian's cron, which trims no SATA", with(map[string]string{cron: debians, "/usr/sbin/cron": ""}), Disks{Trims: true}, "zfs-trim-weekly@tank.timer"},
		{"Debian's cron without a cron", with(map[string]string{cron: debians}), Disks{true, true}, "zfs-scrub-monthly@tank.timer zfs-trim-weekly@tank.timer"},
	} {
		acts, notes, err := PoolTimers(context.Background(), newRoot(t, c.files).h, "tank", c.disks)
		var got []string
		for _, a := range acts {
			got = append(got, a.Switch.On)
		}
		if err != nil || strings.Join(got, " ") != c.want || len(notes) > 0 {
			t.Errorf("%s: %v, %v, %v", c.what, got, notes, err)
		}
	}
	acts, notes, err := PoolTimers(context.Background(), newRoot(t, nil).h, "tank", Disks{})
	if err != nil || acts != nil || len(notes) != 1 {
		t.Errorf("an OpenZFS without timers: %v, %v, %v", acts, notes, err)
	}
	acts, notes, err = PoolTimers(context.Background(), newRoot(t, map[string]string{cron: debians, "/usr/sbin/cron": ""}).h, "tank", Disks{Trims: true})
	if err != nil || acts != nil || len(notes) != 1 || !strings.Contains(notes[0], "zfs set org.debian:periodic-trim=enable tank") {
		t.Errorf("Debian's cron, and no timer: %v, %v, %v", acts, notes, err)
	}
}

// A timer that somebody has masked cannot be enabled: that is told, and is no reason for which a pool would be taken back.
func TestMaskedTimersAreTold(t *testing.T) {
	for _, masked := range []string{"zfs-scrub-monthly@tank.timer", "zfs-scrub-monthly@.timer"} {
		h := hosttest.Map{Files: map[string]string{"/usr/lib/systemd/system/zfs-scrub-monthly@.timer": ""}, Links: map[string]string{"/etc/systemd/system/" + masked: "/dev/null"}}
		acts, notes, err := PoolTimers(t.Context(), h, "tank", Disks{})
		if err != nil || len(acts) > 0 || len(notes) != 1 || !strings.Contains(notes[0], "masked") {
			t.Errorf("%s: %v, %v, %v", masked, acts, notes, err)
		}
	}
}

// Filesystems are trimmed by the timer that comes with the system, unless somebody has enabled it.
func TestFilesystemsAreTrimmed(t *testing.T) {
	const asks = "systemctl show -p UnitFileState fstrim.timer"
	timer := map[string]string{"/usr/lib/systemd/system/fstrim.timer": ""}
	for what, c := range map[string]struct {
		h           hosttest.Map
		acts, notes int
		fails       bool
	}{
		"disabled": {hosttest.Map{Files: timer, Outputs: map[string]string{asks: "UnitFileState=disabled\n"}}, 1, 0, false},
		"enabled":  {hosttest.Map{Files: timer, Outputs: map[string]string{asks: "UnitFileState=enabled\n"}}, 0, 0, false},
		"no timer": {hosttest.Map{}, 0, 1, false},
		"no word":  {hosttest.Map{Files: timer}, 0, 0, true},
		"masked":   {hosttest.Map{Files: timer, Links: map[string]string{"/etc/systemd/system/fstrim.timer": "/dev/null"}, Outputs: map[string]string{asks: "UnitFileState=masked\n"}}, 0, 1, false},
	} {
		acts, notes, err := TrimTimer(t.Context(), c.h)
		if len(acts) != c.acts || len(notes) != c.notes || (err != nil) != c.fails {
			t.Errorf("%s: %+v, %v, %v", what, acts, notes, err)
		}
	}
}

// A loop device in a filesystem with holes takes a trim; a character device and what is not there do not.
func TestWhatTakesATrim(t *testing.T) {
	h := host.NewLive(host.LiveOptions{})
	defer h.Close()
	for _, name := range []string{"/dev/null", "/dev/none", "/etc/passwd"} {
		if Trims(t.Context(), h, name) {
			t.Errorf("%s takes a trim", name)
		}
	}
	all, err := filepath.Glob("/sys/class/block/*/queue/discard_max_bytes")
	must(t, err)
	for _, file := range all {
		name := strings.Split(file, "/")[4]
		text, err := os.ReadFile(file)
		if err != nil {
			continue // a device that has just gone
		}
		if _, err := os.Stat("/dev/" + name); err == nil && Trims(t.Context(), h, "/dev/"+name) != (strings.TrimSpace(string(text)) != "0") {
			t.Errorf("of %s the kernel says %s", name, text)
		}
	}
}
