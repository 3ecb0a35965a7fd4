package move

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"plumb/internal/change"
	"plumb/internal/hint"
	"plumb/internal/host/hosttest"
	"plumb/internal/protect"
	"plumb/internal/provision"
	"plumb/internal/stack"
	"plumb/test/sandbox"
)

// applies moves the toy, and hooks in before an act.
func (y *toy) applies(before func(place string)) (change.Outcome, error) {
	y.t.Helper()
	draft, made := y.draft()
	return y.executor(y.d).Apply(y.t.Context(), draft, change.ApplyOptions{
		Proof: func(ctx context.Context) error { return made.Proof(ctx, y.d) },
		Doing: func(_ int, a change.Act, done bool) {
			if !done && before != nil {
				before(a.Place())
			}
		},
	})
}

// asBefore fails unless the server runs on its old place, with all it promised, and nothing is left.
func (y *toy) asBefore(when, beside string) {
	y.t.Helper()
	if !y.listens() {
		y.t.Errorf("%s: no server runs", when)
	}
	y.kept(when)
	if now := y.untouched(); now != beside {
		y.t.Errorf("%s: it left\n%s\nin place of\n%s", when, now, beside)
	}
}

func (y *toy) undo(o change.UndoOptions) {
	y.t.Helper()
	all, err := y.executor(y.d).Changes(y.t.Context())
	must(y.t, err)
	must(y.t, y.executor(y.d).Undo(y.t.Context(), []int{all[len(all)-1].Number}, o))
}

// A server that does not start in the new place runs on in the old one, whatever it has left in the new one.
func TestServerThatDoesNotStart(t *testing.T) {
	y := newToy(t, t.TempDir())
	y.mover()
	beside := y.untouched()
	ill := fmt.Sprintf(`if mountpoint -q %[1]s/old/db; then echo half >>%[1]s/old/db/base/log; echo ruined >%[1]s/old/db/base/large; exit 0; fi; `, y.dir)
	y.start = []string{"sh", "-c", ill + y.start[2]}
	m := y.mover()
	m.Within = 3 * time.Second
	made, err := m.Move(t.Context(), y.d, &stack.Stack{}, y.move())
	must(t, err)
	was := y.fixed()
	out, err := y.executor(y.d).Apply(t.Context(), change.Draft{Steps: []change.Prepared{provision.Step(stack.Ref{Kind: "toy", Name: "1"}, "move", made.Acts)}}, change.ApplyOptions{})
	if err == nil || out.Steps[0].Back != "taken back" {
		t.Fatalf("%v, %+v", err, out.Steps[0].Back)
	}
	for i := 0; !y.listens() && i < 3000; i++ {
		time.Sleep(20 * time.Millisecond)
	}
	y.asBefore("did not start", beside)
	if now := y.fixed(); strings.TrimRight(now, "0123456789\n") != strings.TrimRight(was, "0123456789\n") {
		t.Errorf("it is\n%s\nin place of\n%s", now, was)
	}
}

// A proof that fails takes the move back, with what was written since.
func TestProofThatFails(t *testing.T) {
	y := newToy(t, t.TempDir())
	y.mover()
	beside := y.untouched()
	draft, _ := y.draft()
	_, err := y.executor(y.d).Apply(t.Context(), draft, change.ApplyOptions{Proof: func(context.Context) error { return fmt.Errorf("behind") }})
	if err == nil || !strings.Contains(err.Error(), "behind") {
		t.Fatal(err)
	}
	y.asBefore("unproven", beside)
}

// A filesystem that is full before the server is stopped, or after it, leaves the server where it was.
func TestFullFilesystem(t *testing.T) {
	for _, when := range []string{"data of toy:1", "data at rest of toy:1"} {
		t.Run(strings.ReplaceAll(when, " ", "-"), func(t *testing.T) {
			y := newToy(t, t.TempDir())
			y.mover()
			sh(t, `mount -t tmpfs -o size=8m,mode=755 none "$1/new"`, y.dir)
			beside, pid := y.untouched(), sh(t, "cat "+y.dir+"/pid")
			_, err := y.applies(func(place string) {
				if place == when {
					sh(t, `head -c 9000000 /dev/zero >"$1/base/more"; chown 65534:65534 "$1/base/more"`, y.data)
				}
			})
			if err == nil || !strings.Contains(err.Error(), "no space left") || !strings.Contains(err.Error(), "base/more") {
				t.Fatal(err)
			}
			y.asBefore("full", beside)
			if now := sh(t, "cat "+y.dir+"/pid"); (now == pid) != (when == "data of toy:1") {
				t.Errorf("the process was %s and is %s", pid, now)
			}
		})
	}
}

// A filesystem that is too small is refused before anything is copied; on ZFS, which may compress, it is said.
func TestNoRoomIsSaidBefore(t *testing.T) {
	y := newToy(t, t.TempDir())
	sh(t, `mount -t tmpfs -o size=1m,mode=755 none "$1/new"`, y.dir)
	if _, err := y.mover().Move(t.Context(), y.d, &stack.Stack{}, y.move()); err == nil || !strings.Contains(err.Error(), "are free") || hint.Of(err) == "" {
		t.Errorf("%v", err)
	}
	w := y.move()
	w.Volumes[0].Dataset = "tank/db/data"
	made, err := y.mover().Move(t.Context(), y.d, &stack.Stack{}, w)
	if err != nil || !strings.Contains(made.Notes[0], "only if they compress well enough") {
		t.Errorf("%v, %q", err, made.Notes)
	}
	w = y.move() // what is yet to be made
	w.Volumes[0].Aside = y.dir + "/unmade"
	for room, fits := range map[int64]bool{0: true, 1 << 20: false, 1 << 40: true} {
		w.Room = room
		made, err := y.mover().Move(t.Context(), y.d, &stack.Stack{}, w)
		if (err == nil) != fits || err != nil && !strings.Contains(err.Error(), "has room for 1.00M at most") || err == nil && !strings.Contains(made.Notes[0], "of data is copied while the server runs") {
			t.Errorf("room for %d: %v, %q", room, err, made.Notes)
		}
	}
}

// A file that somebody writes to although the server has ended is not taken for still.
func TestFileThatNeverStandsStill(t *testing.T) {
	y := newToy(t, t.TempDir())
	y.mover()
	beside := y.untouched()
	writer := exec.Command("sh", "-c", `while :; do echo x >>"$1/base/large"; sleep 0.02; done`, "sh", y.data)
	_, err := y.applies(func(place string) {
		if place == "data at rest of toy:1" {
			must(t, writer.Start())
		}
	})
	must(t, writer.Process.Kill())
	_ = writer.Wait()
	if err == nil || !strings.Contains(err.Error(), "written to while it was being copied") && !strings.Contains(err.Error(), "in use") && !strings.Contains(err.Error(), "not like") {
		t.Fatal(err)
	}
	y.asBefore("written to", beside)
}

// What is no file, would make root read for ever, or leads out of what is moved is refused while the server runs.
func TestRefusedBeforeTheStop(t *testing.T) {
	for name, c := range map[string]struct{ make, says string }{
		"fifo":   {`mkfifo base/pipe`, "base/pipe: it is neither"},
		"device": {`mknod base/null c 1 3`, "base/null: it is neither"},
		"holes":  {`truncate -s 3T base/sparse`, "holes of"},
		"link":   {`mkdir ../apart; chown 65534 ../apart; ln -s ../apart tablespace`, "tablespace leads to"},
		"mount":  {`mkdir base/m; mount -t tmpfs none base/m`, "is mounted on"},
	} {
		t.Run(name, func(t *testing.T) {
			y := newToy(t, t.TempDir())
			y.mover()
			sh(t, `cd "$1"; `+c.make, y.data)
			beside, pid := y.untouched(), sh(t, "cat "+y.dir+"/pid")
			made, err := y.mover().Move(t.Context(), y.d, &stack.Stack{}, y.move())
			if err == nil {
				_, err = y.executor(y.d).Apply(t.Context(), change.Draft{Steps: []change.Prepared{provision.Step(stack.Ref{Kind: "toy", Name: "1"}, "move", made.Acts)}}, change.ApplyOptions{})
			}
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Fatalf("%v", err)
			}
			y.asBefore(name, beside)
			if now := sh(t, "cat "+y.dir+"/pid"); now != pid {
				t.Error("the server was stopped")
			}
		})
	}
}

// Labels are set when all is mounted, and before the server is let in: a filesystem that is not there yet has none.
func TestLabelsComeLast(t *testing.T) {
	y := newToy(t, t.TempDir())
	w := y.move()
	label := change.Exactly("the label", change.Inspection{File: y.dir + "/label", Match: `^(.+)$`}, "set", nil, []string{"rm", y.dir + "/label"})
	label.Do = change.Commands([]string{"sh", "-ec", `[ -e "$1/base/large" ] && mountpoint -q "$1/pg_wal"; echo set >"$2"`, "sh", y.data, y.dir + "/label"})
	w.Label = []change.Act{{Switch: &label}}
	made, err := y.mover().Move(t.Context(), y.d, &stack.Stack{}, w)
	must(t, err)
	out, err := y.executor(y.d).Apply(t.Context(), change.Draft{Steps: []change.Prepared{provision.Step(stack.Ref{Kind: "toy", Name: "1"}, "move", made.Acts)}}, change.ApplyOptions{})
	must(t, err)
	y.kept("labelled")
	must(t, y.executor(y.d).Undo(t.Context(), []int{out.Number}, change.UndoOptions{}))
	y.kept("and back")
}

// Another place than theirs is refused where something is, or where others than root could put something.
func TestElsewhereIsRefused(t *testing.T) {
	y := newToy(t, t.TempDir())
	sh(t, `cd "$1"; mkdir -p there/taken open theirs/ours; chmod 777 open; chown 65534 theirs; ln -s there led`, y.dir)
	for at, says := range map[string]string{"there/taken": "already exists", "none/db": "check the directory above", "open/db": "by everybody", "led/db": "a link", "theirs/ours/db": "belongs to user 65534", "old/db/within": "is inside the other", "old": "is inside the other"} {
		y.at = y.dir + "/" + at
		if _, err := y.mover().Move(t.Context(), y.d, &stack.Stack{}, y.move()); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", at, err)
		}
	}
	// A link that names the old place would lead nowhere.
	y.at = y.dir + "/there/db"
	sh(t, `ln -s "$1/base/large" "$1/named"`, y.data)
	draft, _ := y.draft()
	if _, err := y.executor(y.d).Apply(t.Context(), draft, change.ApplyOptions{}); err == nil || !strings.Contains(err.Error(), "make it a relative link") && !strings.Contains(err.Error(), "names the directory") {
		t.Error(err)
	}
}

// A volume hides what is in its place: one with something in it is refused, and so is a link.
func TestPlaceOfALogIsBare(t *testing.T) {
	y := newToy(t, t.TempDir())
	sh(t, `cd "$1"; mkdir full bare; touch full/.theirs; ln -s there led`, y.dir)
	for at, says := range map[string]string{"full": "is not empty", "led": "a link", "bare": "", "none": ""} {
		w := y.move()
		w.Volumes[1].At, w.Parts[0].At, w.Parts[0].Files = y.dir+"/"+at, y.dir+"/"+at, []string{"pg_wal"}
		_, err := y.mover().Move(t.Context(), y.d, &stack.Stack{}, w)
		if says == "" && err != nil || says != "" && (err == nil || !strings.Contains(err.Error(), says)) {
			t.Errorf("%s: %v", at, err)
		}
	}
}

// What fstab cannot name is refused while the server runs.
func TestPlaceWithABlankIsRefused(t *testing.T) {
	y := newToy(t, t.TempDir())
	y.at = y.dir + "/there/d b"
	if _, err := y.mover().Move(t.Context(), y.d, &stack.Stack{}, y.move()); err == nil || !strings.Contains(err.Error(), "six fields") || hint.Of(err) == "" {
		t.Errorf("%v, hint %q", err, hint.Of(err))
	}
}

// Data that somebody has moved on by hand are not taken for none: the old files stay, and the server runs on.
func TestMovedOnByHand(t *testing.T) {
	y := newToy(t, t.TempDir())
	y.mover()
	draft, _ := y.draft()
	out, err := y.executor(y.d).Apply(t.Context(), draft, change.ApplyOptions{})
	must(t, err)
	pid := sh(t, "cat "+y.dir+"/pid")
	sh(t, `cd "$1"; mkdir ../../on; for f in *; do [ "$f" = pg_wal ] || mv "$f" ../../on; done`, y.data)
	for _, o := range []change.UndoOptions{{}, {Force: true}} {
		err := y.executor(y.d).Undo(t.Context(), []int{out.Number}, o)
		if _, refused := errors.AsType[*change.Refusal](err); !refused || !strings.Contains(err.Error(), "is empty") || !strings.Contains(hint.Of(err), "--discard-new") {
			t.Errorf("%+v: %v, hint %q", o, err, hint.Of(err))
		}
	}
	if now := sh(t, "cat "+y.dir+"/pid"); !y.listens() || now != pid {
		t.Errorf("the server was %s and is %s", pid, now)
	}
	sh(t, `mount -t tmpfs none "$1"`, y.data)
	if err := y.executor(y.d).Undo(t.Context(), []int{out.Number}, change.UndoOptions{Discard: true}); err == nil || !strings.Contains(err.Error(), "are not the ones") || !y.listens() {
		t.Errorf("with something else mounted: %v", err)
	}
	sh(t, `umount "$1"; [ -e "$1".before-*/base/large ]; mv "$2"/on/* "$1"`, y.data, y.dir)
	y.undo(change.UndoOptions{})
	y.kept("moved back by hand")
}

// A start of the machine waits for no mount of ours: with the data's disk missing it can be reached.
func TestTheMachineStartsWithoutTheDisk(t *testing.T) {
	v := provision.Volume{At: "/var/lib/db", Aside: "/srv/db/data"}
	if got := lasts("/etc/fstab", v).Value; !slices.Contains(strings.Split(strings.Fields(got)[3], ","), "nofail") {
		t.Errorf("fstab has %q", got)
	}
}

// A server that answers and is not seen to listen, as from another network namespace, would count as stopped while it runs.
func TestServerThatIsNotSeenIsRefused(t *testing.T) {
	y := newToy(t, t.TempDir())
	w := y.move()
	w.Home.Target.Address += ".other"
	if _, err := y.mover().Move(t.Context(), y.d, &stack.Stack{}, w); err == nil || !strings.Contains(err.Error(), "cannot be seen from here") || hint.Of(err) == "" {
		t.Fatal(err)
	}
}

func TestServerThatNobodyStartsIsRefused(t *testing.T) {
	y := newToy(t, t.TempDir())
	w := y.move()
	w.Start = nil
	if _, err := y.mover().Move(t.Context(), y.d, &stack.Stack{}, w); err == nil || !strings.Contains(err.Error(), "started again") {
		t.Fatal(err)
	}
}

// Whoever says so loses what was written since, and nobody else does.
func TestDiscard(t *testing.T) {
	y := newToy(t, t.TempDir())
	y.mover()
	before := len(y.promised())
	draft, _ := y.draft()
	_, err := y.executor(y.d).Apply(t.Context(), draft, change.ApplyOptions{})
	must(t, err)
	if len(y.promised()) != before+1 {
		t.Fatalf("promised: %v", y.promised())
	}
	must(t, os.WriteFile(y.ledger, []byte(strings.Join(y.promised()[:before], "\n")+"\n"), 0o644))
	y.undo(change.UndoOptions{Discard: true})
	y.kept("discarded")
}

// An undo that dies while it loses what was written since is gone on with, wherever that was.
func TestDiscardThatDies(t *testing.T) {
	y := newToy(t, t.TempDir())
	lose, stride := change.UndoOptions{Discard: true}, 5
	if sandbox.Full() {
		stride = 1
	}
	for at := 1; ; at += stride {
		y.mover()
		must(t, os.RemoveAll(y.dir+"/journal"))
		before := y.promised()
		draft, _ := y.draft()
		out, err := y.executor(y.d).Apply(t.Context(), draft, change.ApplyOptions{})
		must(t, err)
		must(t, os.WriteFile(y.ledger, []byte(strings.Join(before, "\n")+"\n"), 0o644))
		how := []string{hosttest.Before, hosttest.After, hosttest.Amid}[at%3]
		m := hosttest.NewMortal(y.d, at, how)
		if err := y.executor(m).Undo(t.Context(), []int{out.Number}, lose); err != nil && !m.Dead() {
			t.Fatal(err)
		}
		m.Rest()
		must(t, y.executor(y.d).Undo(t.Context(), []int{out.Number}, lose))
		y.kept(fmt.Sprintf("dead %s operation %d", how, at))
		if !m.Dead() {
			return
		}
	}
}

// What was written since is copied back onto a filesystem that is full: from then on nobody can lose the rest of it, as the
// old files are of two moments. With room it is all there.
func TestFullWayBack(t *testing.T) {
	base := t.TempDir()
	if os.Getuid() != 0 {
		t.Skip("mounts: run the tests as root")
	}
	sh(t, `mkdir "$1/old"; mount -t tmpfs -o size=4m,mode=755 none "$1/old"`, base)
	t.Cleanup(func() { sh(t, `! mountpoint -q "$1/old" || umount "$1/old"`, base) })
	y := newToy(t, base)
	y.mover()
	draft, _ := y.draft()
	out, err := y.executor(y.d).Apply(t.Context(), draft, change.ApplyOptions{})
	must(t, err)
	sh(t, `head -c 9000000 /dev/urandom >"$1/base/more"; chown 65534:65534 "$1/base/more"`, y.data)
	undo := func(o change.UndoOptions) error {
		return y.executor(y.d).Undo(t.Context(), []int{out.Number}, o)
	}
	if err := undo(change.UndoOptions{}); !errors.Is(err, syscall.ENOSPC) || !strings.Contains(hint.Of(err), "make room") {
		t.Fatalf("%v, hint %q", err, hint.Of(err))
	}
	if err := undo(change.UndoOptions{Discard: true}); err == nil || !strings.Contains(err.Error(), "copied back already") || !strings.Contains(hint.Of(err), fmt.Sprintf("plumb undo %d", out.Number)) {
		t.Fatalf("%v, hint %q", err, hint.Of(err))
	}
	y.up()
	y.kept("until there is room")
	sh(t, y.stop[2])
	sh(t, `mount -o remount,size=64m "$1/old"`, base)
	must(t, undo(change.UndoOptions{}))
	y.kept("with room")
	if st, err := os.Stat(y.data + "/base/more"); err != nil || st.Size() != 9000000 {
		t.Errorf("%v, %v", st, err)
	}
}

const intruder = `import os, sys
data, secret = sys.argv[1:]
base = data + "/base"
while True:
    for f in ("large", "PG", "empty", "log2"):
        try:
            os.symlink(secret + "/file", base + "/.l"); os.rename(base + "/.l", base + "/" + f + ".x")
            os.rename(base + "/large", base + "/.keep"); os.symlink(secret + "/file", base + "/large"); os.unlink(base + "/large"); os.rename(base + "/.keep", base + "/large")
        except OSError: pass
    try:
        os.rename(data + "/sub", data + "/.sub"); os.symlink(secret, data + "/sub"); os.unlink(data + "/sub"); os.rename(data + "/.sub", data + "/sub")
    except OSError: pass
    try: os.unlink(base + "/" + "large.x")
    except OSError: pass
`

// TestIntruder swaps files and directories for links to what only root can read, all the time. Whatever comes of the
// move, nothing of that is copied, and nothing outside is written.
func TestIntruder(t *testing.T) {
	y := newToy(t, t.TempDir())
	y.mover()
	secret := t.TempDir()
	sh(t, `echo TOPSECRET-8841 >"$1/file"; chmod 600 "$1/file"; chmod 711 "$1"; mkdir "$2/sub"; for i in $(seq 300); do echo $i >"$2/sub/file$i"; done; echo mine >"$2/sub/file"; chown -R 65534:65534 "$2/sub"; printf '%s' "$3" >"$4/i.py"; chmod 755 "$4" "$(dirname "$4")"`, secret, y.data, intruder, y.dir)
	was := sh(t, `cd "$1"; find . -printf '%p %m %U %s %T@ %C@\n'; cat file`, secret)
	spy := exec.Command("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--", python(t), y.dir+"/i.py", y.data, secret)
	must(t, spy.Start())
	for i := 0; !isLink(y.data+"/base/PG.x") && i < 3000; i++ {
		time.Sleep(20 * time.Millisecond)
	}
	rounds := 1
	if sandbox.Full() {
		rounds = 5
	}
	for range rounds {
		draft, _ := y.draft()
		_, err := y.executor(y.d).Apply(t.Context(), draft, change.ApplyOptions{})
		t.Logf("it came to: %v", err)
		if found := sh(t, `for f in $(find "$1" -xdev -type f -size -2k); do grep -l TOPSECRET-8841 "$f" || :; done`, y.dir+"/new"); found != "" {
			t.Errorf("a secret was copied: %s", found)
		}
		if err == nil {
			all, err := y.executor(y.d).Changes(t.Context())
			must(t, err)
			if err := y.executor(y.d).Undo(t.Context(), []int{all[len(all)-1].Number}, change.UndoOptions{}); err != nil {
				t.Logf("the undo came to: %v", err)
				break
			}
		}
	}
	if state := sh(t, "grep ^State: /proc/"+strconv.Itoa(spy.Process.Pid)+"/status"); strings.Contains(state, "Z") || !isLink(y.data+"/base/PG.x") {
		t.Errorf("the intruder did nothing: %s", state)
	}
	must(t, spy.Process.Kill())
	_ = spy.Wait()
	if all, err := y.executor(y.d).Changes(t.Context()); err == nil && all[len(all)-1].Open() {
		y.undo(change.UndoOptions{})
	}
	if now := sh(t, `cd "$1"; find . -printf '%p %m %U %s %T@ %C@\n'; cat file`, secret); now != was {
		t.Errorf("outside it is\n%s\nin place of\n%s", now, was)
	}
	y.kept("intruded")
}

func isLink(name string) bool {
	st, err := os.Lstat(name)
	return err == nil && st.Mode()&os.ModeSymlink != 0
}

// says has the mover's engine tell another place than its own.
func says(m Mover, word func() (string, error)) Mover {
	e := m.Engines[0].(still)
	e.says = word
	m.Engines = []protect.Engine{e}
	return m
}

// Where another server answers than the one whose data are to be moved, that one is not stopped.
func TestAnotherServerAnswers(t *testing.T) {
	y := newToy(t, t.TempDir())
	other := t.TempDir()
	_, err := says(y.mover(), func() (string, error) { return other, nil }).Move(t.Context(), y.d, &stack.Stack{}, y.move())
	if err == nil || !strings.Contains(err.Error(), "says that its data are in "+other+", not in "+y.data) {
		t.Errorf("it says %v", err)
	}
}

// A server that runs on in its old place is found out by what it says, and one that does not say is told of.
func TestServerSaysWhereItsDataAre(t *testing.T) {
	y := newToy(t, t.TempDir())
	home := y.move().Home
	p := planning{Mover: y.mover(), Move: provision.Move{Home: home}, h: y.d, data: provision.Volume{At: t.TempDir()}}
	must(t, p.told(t.Context()))
	if err := p.confirmed(t.Context(), y.d); err == nil || !strings.Contains(err.Error(), "its data are in "+y.data+"/, not in "+p.data.At) {
		t.Errorf("of a server in its old place it says %v", err)
	}
	p.data.At = y.data
	must(t, p.confirmed(t.Context(), y.d))

	silent := planning{Mover: says(y.mover(), func() (string, error) { return "", errors.New("permission denied") }), Move: provision.Move{Home: home}, h: y.d}
	must(t, silent.told(t.Context()))
	if len(silent.notes) != 1 || !strings.Contains(silent.notes[0], "permission denied") {
		t.Errorf("it notes %q", silent.notes)
	}
	must(t, silent.confirmed(t.Context(), y.d))
}
