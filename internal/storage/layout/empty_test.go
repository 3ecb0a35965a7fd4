package layout

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"plumb/internal/change"
)

// aZFS behaves like the commands of OpenZFS with one dataset, whose state is in files below $S, and can kill who calls it before or
// after its nth change.
var aZFS = map[string]string{"zfs": `changes() {
  n=$(($(cat "$S/n") + 1)); echo "$n" >"$S/n"
  [ "$DIE" != "before $n" ] || kill -9 0
  rc=0; "$@" || rc=$?
  [ "$DIE" != "after $n" ] || kill -9 0
  exit "$rc"
}
mounts() {
  at=$(cat "$S/mountpoint")
  [ ! -e "$S/at" ] && [ "$(cat "$S/canmount")" != off ] && [ "$HOLDS" != unseen ] && [ ! -e "$S/held" ] || return 1
  case "$at" in /run/*) [ "$(stat -c '%u %a' "${at%/in}")" = "0 700" ] || : >"$S/open" ;; *) : >"$S/elsewhere" ;; esac
  mkdir -p "$at"; echo "$at" >"$S/at"
  [ -z "$HOLDS" ] || : >"$at/$HOLDS"
}
tries() { mounts || { echo "cannot mount '$1': encryption key not loaded" >&2; return 1; }; }
unmounts() { at=$(cat "$S/at"); [ -z "$HOLDS" ] || rm "$at/$HOLDS"; rm "$S/at"; }
sets() {
  case "$1" in mountpoint=*) [ ! -e "$S/at" ] || return 1; rmdir "$(cat "$S/mountpoint")" 2>/dev/null ;; esac
  echo "${1#*=}" >"$S/${1%%=*}"
  case "$(cat "$S/canmount") $1" in "on mountpoint=/"*) mounts || : ;; esac
}
case "$1 $5" in
"get mounted") [ -e "$S/at" ] && echo yes || echo no ;;
get*) cat "$S/$5" ;;
list*) for name; do :; done; echo "$name" ;;
set*) changes sets "$2" ;;
mount*) changes tries "$2" ;;
unmount*) changes unmounts ;;
destroy*) [ ! -e "$S/held" ] && changes touch "$S/destroyed" ;;
esac`,
	"zpool":   `[ ! -e "$S/held" ] && touch "$S/destroyed"`,
	"grep":    `[ -e "$S/held" ] && echo /proc/1/mountinfo`,
	"findmnt": `[ ! -e "$S/at" ] || [ "$(cat "$S/at")" != "$5" ] || echo "$NAME"`,
	"mktemp":  `/usr/bin/mktemp "$@" | tee -a "$S/made"`,
}

// looked is an undo of a dataset with a state of its own.
type looked struct {
	t            *testing.T
	bin, dir     string
	op           change.Op
	name, holds  string
	can, mounted string // its properties
}

func (l *looked) run(die string) (string, error) {
	c := exec.Command(l.op.Argv[0], l.op.Argv[1:]...)
	c.Env = append(os.Environ(), "PATH="+l.bin+":"+os.Getenv("PATH"), "S="+l.dir, "NAME="+l.name, "HOLDS="+l.holds, "DIE="+die)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // which dies whole
	out, err := c.CombinedOutput()
	return string(out), err
}

func (l *looked) read(name string) string {
	text, _ := os.ReadFile(filepath.Join(l.dir, name))
	return strings.TrimSpace(string(text))
}

func (l *looked) has(name string) bool {
	_, err := os.Stat(filepath.Join(l.dir, name))
	return err == nil
}

// anew makes a dataset that is not mounted.
func (l *looked) anew() {
	l.t.Helper()
	l.dir = l.t.TempDir()
	for name, text := range map[string]string{"canmount": l.can, "mountpoint": l.mounted, "n": "0"} {
		if err := os.WriteFile(filepath.Join(l.dir, name), []byte(text+"\n"), 0o600); err != nil {
			l.t.Fatal(err)
		}
	}
}

// judge says what is wrong with what became of it.
func (l *looked) judge(what, out string, err error) {
	l.t.Helper()
	what = fmt.Sprintf("%s that holds %q, %s", l.name, l.holds, what)
	if gone := l.has("destroyed"); gone != (l.holds == "") || (err == nil) != gone {
		l.t.Errorf("%s: destroyed %v, %v: %s", what, gone, err, out)
	}
	if e, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || e.ExitCode() != change.Kept) {
		l.t.Errorf("%s: it does not say that others' are in it: %v: %s", what, err, out)
	}
	if l.has("open") || l.has("elsewhere") {
		l.t.Errorf("%s: it was mounted where others can go", what)
	}
	if l.has("at") || l.read("mountpoint") != l.mounted {
		l.t.Errorf("%s: it was left with the mountpoint %s, mounted at %q", what, l.read("mountpoint"), l.read("at"))
	}
}

// litter removes the directories that looks have left, and counts them.
func (l *looked) litter() (n int) {
	for dir := range strings.FieldsSeq(l.read("made")) {
		os.Remove(dir + "/in")
		if os.Remove(dir) == nil {
			n++
		}
	}
	return n
}

func newLooked(t *testing.T, op change.Op, name, can, mounted string) *looked {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root for directories in /run")
	}
	l := &looked{t: t, bin: t.TempDir(), op: op, name: name, can: can, mounted: mounted}
	for name, text := range aZFS {
		if err := os.WriteFile(filepath.Join(l.bin, name), []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

// A dataset that is not mounted may hold something, whatever its properties say: it is looked into. What cannot be seen, as without its
// key, is kept. What is kept keeps its properties, also those that somebody has set since it was made.
func TestWhatIsNotSeenIsKept(t *testing.T) {
	place := filepath.Join(t.TempDir(), "data")
	parent := dataset("tank/db", map[string]string{"canmount": "off", "mountpoint": "none"}).Make.Undo[0]
	data := dataset("tank/db/data", map[string]string{"canmount": "noauto", "mountpoint": place}).Make.Undo[0]
	for _, l := range []*looked{
		newLooked(t, script(destroyPool, "tank"), "tank", "off", "none"),
		newLooked(t, parent, "tank/db", "off", "none"),
		newLooked(t, data, "tank/db/data", "noauto", place),
		newLooked(t, data, "tank/db/data", "on", place),
		newLooked(t, data, "tank/db/data", "noauto", "legacy"),
		newLooked(t, dataset("tank/busy", map[string]string{"canmount": "noauto", "mountpoint": place}).Make.Undo[0], "tank/busy", "noauto", place),
	} {
		for _, l.holds = range []string{"", "ibdata1", "unseen"} {
			l.anew()
			out, err := l.run("")
			l.judge("looked into", out, err)
			if l.read("canmount") != l.can {
				t.Errorf("%s with canmount=%s is kept with %s", l.name, l.can, l.read("canmount"))
			}
			if n := l.litter(); n > 0 {
				t.Errorf("%s: %d directories are left", l.name, n)
			}
		}
	}
}

// A look that is killed hinders no other: the next one ends its mount, and comes to the same.
func TestALookThatIsKilledHindersNoOther(t *testing.T) {
	place := filepath.Join(t.TempDir(), "data")
	l := newLooked(t, dataset("tank/db/data", map[string]string{"canmount": "noauto", "mountpoint": place}).Make.Undo[0], "tank/db/data", "on", place)
	deaths := 0
	for _, l.holds = range []string{"", "ibdata1", "unseen"} {
		for n := 1; ; n++ {
			died := false
			for _, when := range []string{"before", "after"} {
				l.anew()
				out, err := l.run(fmt.Sprint(when, " ", n))
				if died = strings.Contains(fmt.Sprint(err), "killed"); died && !l.has("destroyed") {
					deaths++
					out, err = l.run("")
				} else if died {
					err = nil
				}
				l.judge(fmt.Sprintf("killed %s change %d", when, n), out, err)
				l.litter()
				if can := l.read("canmount"); can != "on" && can != "noauto" {
					t.Errorf("canmount is %s", can)
				}
			}
			if !died {
				break
			}
		}
	}
	if deaths < 30 {
		t.Errorf("it died %d times", deaths)
	}
}

// One mounted where its properties do not say is somebody's: it is neither looked for elsewhere nor unmounted.
func TestWhatIsMountedElsewhereIsKept(t *testing.T) {
	for _, point := range []string{"legacy", t.TempDir()} {
		l := newLooked(t, dataset("tank/db/data", map[string]string{"canmount": "noauto", "mountpoint": "/srv/data"}).Make.Undo[0], "tank/db/data", "noauto", point)
		l.anew()
		if err := os.WriteFile(filepath.Join(l.dir, "at"), []byte("/srv/theirs\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := l.run("")
		if err == nil || !strings.Contains(out, "is mounted elsewhere than its mountpoint "+point+" says: it is kept") || l.read("at") != "/srv/theirs" || l.has("destroyed") {
			t.Errorf("%v: %s", err, out)
		}
	}
}

// One that a process with mounts of its own has mounted still is not called somebody's: the process is named, nothing is changed, and once
// it has let go the same goes well.
func TestWhatIsHeldElsewhereIsBusy(t *testing.T) {
	place := filepath.Join(t.TempDir(), "data")
	for _, l := range []*looked{
		newLooked(t, script(destroyPool, "tank"), "tank", "off", "none"),
		newLooked(t, dataset("tank/db/data", map[string]string{"canmount": "noauto", "mountpoint": place}).Make.Undo[0], "tank/db/data", "on", place),
	} {
		l.anew()
		held := filepath.Join(l.dir, "held")
		if err := os.WriteFile(held, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := l.run("")
		if e, ok := errors.AsType[*exec.ExitError](err); !ok || e.ExitCode() == change.Kept || !strings.Contains(out, l.name+" is unmounted here, and busy: process 1 ") {
			t.Errorf("%s: who holds it is not named: %v: %s", l.name, err, out)
		}
		if l.has("destroyed") || l.read("n") != "0" {
			t.Errorf("%s: something was changed: %s", l.name, out)
		}
		if err := os.Remove(held); err != nil {
			t.Fatal(err)
		}
		out, err = l.run("")
		l.judge("let go of", out, err)
	}
}

// One whose name is that of another but for a dot is not taken for the other, which is mounted.
func TestNamesAreNoPatterns(t *testing.T) {
	place := filepath.Join(t.TempDir(), "data")
	l := newLooked(t, dataset("tank/db/a.b", map[string]string{"canmount": "noauto", "mountpoint": place}).Make.Undo[0], "tank/db/a.b", "noauto", place)
	const grep = "#!/bin/bash\nwords=()\nfor word; do [[ $word == /proc/* ]] || words+=(\"$word\"); done\nPATH=/usr/bin:/bin exec grep \"${words[@]}\" \"$S/mountinfo\"\n"
	if err := os.WriteFile(filepath.Join(l.bin, "grep"), []byte(grep), 0o755); err != nil {
		t.Fatal(err)
	}
	for mounted, want := range map[string]string{"zfs tank/db/a-b": "", "zfs tank/db/a.b": "is unmounted here, and busy", "fuse.zfs tank/db/a.b": "is unmounted here, and busy"} {
		l.anew()
		if err := os.WriteFile(filepath.Join(l.dir, "mountinfo"), []byte("36 35 0:44 / /srv/theirs rw - "+mounted+" rw\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := l.run("")
		if l.has("destroyed") != (want == "") || (err == nil) != (want == "") || !strings.Contains(out, want) {
			t.Errorf("beside %s: %v: %s", mounted, err, out)
		}
	}
}

// A filesystem that a process with mounts of its own holds is not called somebody's either.
func TestAFilesystemThatIsHeldElsewhereIsBusy(t *testing.T) {
	x := newBox(t)
	at := filepath.Join(x.Dir, "mnt")
	for kind, megabytes := range map[string]int{"ext4": 40, "btrfs": 130} {
		device := x.disk(kind, megabytes).Path
		x.sh(`mkfs."$1" -q "$2"; mkdir -p "$3"; mount "$2" "$3"; rm -rf "$3/lost+found"`, kind, device, at)
		pid, end := x.held()
		x.sh(`umount "$1"`, at)
		op := isEmpty(device, kind)
		out, err := exec.Command(op.Argv[0], op.Argv[1:]...).CombinedOutput()
		if want := fmt.Sprintf("%s is unmounted here, and busy: process %d ", device, pid); err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: it does not say that %s: %v: %s", kind, want, err, out)
		}
		end()
		if out, err := patient(op); err != nil {
			t.Errorf("%s: %v: %s", kind, err, out)
		}
	}
}

// The mount of a look into a filesystem ends with it, also when it is killed: the disk is nobody's then.
func TestALookThatIsKilledLeavesNoMount(t *testing.T) {
	x := newBox(t)
	device, bin := x.disk("looked", 40).Path, t.TempDir()
	x.sh(`mkfs.ext4 -q "$1"; printf '#!/bin/sh\ngrep -q " /mnt " /proc/self/mountinfo && kill -9 0\n' >"$2/find"; chmod 755 "$2/find"`, device, bin)
	op := isEmpty(device, "ext4")
	c := exec.Command(op.Argv[0], op.Argv[1:]...)
	c.Env, c.SysProcAttr = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH")), &syscall.SysProcAttr{Setpgid: true}
	if out, err := c.CombinedOutput(); !strings.Contains(fmt.Sprint(err), "killed") {
		t.Fatalf("it was to be killed amid the look: %v: %s", err, out)
	}
	var err error
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		var f *os.File
		if f, err = os.OpenFile(device, os.O_RDWR|os.O_EXCL, 0); err == nil {
			f.Close()
			break
		}
	}
	if err != nil {
		t.Errorf("the disk is held: %v", err)
	}
	if out, err := patient(op); err != nil {
		t.Errorf("an empty one is kept: %v: %s", err, out)
	}
}
