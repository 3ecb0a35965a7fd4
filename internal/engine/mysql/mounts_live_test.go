package mysql_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"plumb/internal/change"
	"plumb/internal/engine/mysql"
	"plumb/internal/stack"
	"plumb/internal/system/process"
	"plumb/test/sandbox"
)

// What is done before a server starts in mounts of its own.
const (
	// privateTmp is what systemd does with PrivateTmp, in a place where the test's files are not.
	privateTmp = `mount -t tmpfs none /var/tmp && exec `
	// otherFile lays another file over the server's option file.
	otherFile = `for a; do case $a in --defaults-file=*) f=${a#*=};; esac; done; mount -t tmpfs none /var/tmp && cp -a "$f" /var/tmp/f && mount --bind /var/tmp/f "$f" && exec `
	// ownRoot is a root directory with what a server needs, as a container has.
	ownRoot = `r=/var/tmp; mount -t tmpfs none $r && for d in /*; do case $d in /var|/work) ;; *) if [ -L $d ]; then cp -a $d $r; elif [ -d $d ]; then mkdir $r$d && mount --rbind $d $r$d; fi;; esac; done && mkdir -p $r/var/tmp $r/var/lib && exec chroot $r `
)

// seenIn gives a server in mounts of its own as a check sees it, and what sets
// one of its variables.
func seenIn(t *testing.T, mounts string) (l *live, seen *stack.Stack, recipe change.Recipe, err error) {
	t.Helper()
	box := sandbox.ForTest(t, "")
	wrap, err := box.Namespace()
	sandbox.Need(t, err)
	script := slices.Index(wrap, "-c") + 1
	wrap[script] = strings.Replace(wrap[script], "exec ", mounts, 1) // after others' mounts were let go: these are not
	l = newLive(t, sandbox.MySQLOptions{Settings: "sync_binlog = 0", Wrap: wrap})
	seen = &stack.Stack{}
	obs, err := process.Probe{}.Collect(t.Context(), l.doer, seen)
	if err != nil {
		t.Fatal(err)
	}
	pid := strconv.Itoa(l.server.PID)
	obs.Things = slices.DeleteFunc(obs.Things, func(p *stack.Thing) bool { return p.Ref != (stack.Ref{Kind: "process", Name: pid}) })
	seen.Add("process", obs)
	obs, err = mysql.NewProbe(l.cat, nil).Collect(t.Context(), l.doer, seen)
	if err != nil || len(obs.Things) != 1 {
		t.Fatalf("%d servers: %v", len(obs.Things), err)
	}
	seen.Add("mysql", obs)
	if in, _ := obs.Things[0].Bool("logged_in"); !in {
		t.Fatalf("not logged in: %+v", obs.Gaps)
	}
	knob := stack.Knob{Of: obs.Things[0].Ref, Name: "sync_binlog"}
	recipe, err = mysql.NewSetter(l.cat, nil).Recipe(t.Context(), l.doer, seen, change.Want{Knob: knob, To: stack.Int(1), Fact: l.cat.Fact("mysql", knob.Name)})
	return l, seen, recipe, err
}

func fact(t *testing.T, s *stack.Stack, kind, name string) bool {
	t.Helper()
	on, known := s.OfKind(kind)[0].Bool(name)
	if !known {
		t.Errorf("%s of the %s is not known: %+v", name, kind, s.Gaps)
	}
	return on
}

// A service of systemd has mounts of its own and is no container: its settings
// persist in the files of this host, and its socket is where it says.
func TestAServiceWithMountsOfItsOwn(t *testing.T) {
	l, s, r, err := seenIn(t, privateTmp)
	if err != nil || r.Lasts != l.conf || len(r.Notes) > 0 {
		t.Errorf("it persists in %q, %v, %v", r.Lasts, r.Notes, err)
	}
	if !fact(t, s, "process", "own_mounts") || fact(t, s, "process", "own_root") || fact(t, s, "mysql", "in_container") {
		t.Error("it is taken for a container")
	}
	if version := s.OfKind("mysql")[0].Text("version"); version == "" {
		t.Error("its version is not known")
	}
	for _, a := range r.Acts {
		if a.Switch != nil && a.Switch.Inspect.Target.Address != l.server.Socket {
			t.Errorf("it is reached at %s, not %s", a.Switch.Inspect.Target.Address, l.server.Socket)
		}
	}
}

// What the server reads under a name is not always the file of that name here.
func TestAnotherFileOverTheOptions(t *testing.T) {
	l, _, r, err := seenIn(t, otherFile)
	if err != nil || r.Lasts != "" || !strings.Contains(strings.Join(r.Notes, "; "), "what it reads as "+l.conf+" is another file") {
		t.Errorf("it persists in %q, %v, %v", r.Lasts, r.Notes, err)
	}
}

// A server with another root directory is in a container, whatever made it.
func TestAServerWithARootOfItsOwn(t *testing.T) {
	_, s, r, err := seenIn(t, ownRoot)
	if err != nil || r.Lasts != "" || !strings.Contains(strings.Join(r.Notes, "; "), "inside a container") {
		t.Errorf("it persists in %q, %v, %v", r.Lasts, r.Notes, err)
	}
	if !fact(t, s, "process", "own_root") || !fact(t, s, "mysql", "in_container") {
		t.Error("it is taken for a server of this host")
	}
}
