package replicate

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"plumb/internal/hint"
	"plumb/internal/host/hosttest"
	"plumb/internal/protect"
	"plumb/internal/storage/point"
)

const envLeast = "PLUMB_LEAST" // of the process that is not root: its directory, point and target

// TestReplicateAllowed has a user who is not root send two points with what --grants prints, and without any right of it.
// zfs-fuse has no zfs allow: there it is skipped, and the machine with OpenZFS runs it.
func TestReplicateAllowed(t *testing.T) {
	if told := os.Getenv(envLeast); told != "" {
		words := strings.Split(told, ",")
		k := keeper(hosttest.LiveDoer(t), words[0])
		p, err := k.Store.Get(t.Context(), k.Do, words[1])
		must(t, err)
		if _, err := (Replicator{Keeper: k}).Run(t.Context(), p, Target{Dataset: words[2]}, Options{}); err != nil {
			t.Fatalf("%v\nhint: %s", err, hint.Of(err))
		}
		return
	}
	w := twoPools(t)
	if w.fuse {
		t.Skip("zfs-fuse has no zfs allow: test/real/vm runs it on OpenZFS")
	}
	sh(t, "useradd least")
	t.Cleanup(func() { sh(t, "userdel least") })
	dir, err := os.MkdirTemp("", "plumb-least-")
	must(t, err)
	t.Cleanup(func() { must(t, os.RemoveAll(dir)) })
	w.dir = filepath.Join(dir, "points")
	w.keeper = keeper(hosttest.LiveDoer(t), w.dir)
	points := []protect.Point{w.point(t, 2000), w.point(t, 100)}
	test := filepath.Join(dir, "least.test")
	uid, err := strconv.Atoi(sh(t, "id -u least"))
	must(t, err)
	sh(t, fmt.Sprintf("cp %s %s; chown -R %d:%[3]d %s", os.Args[0], test, uid, dir)) // also the group: who is not root can give a file to none but his own
	send := func() error {
		for _, p := range points {
			c := exec.Command(test, "-test.run=^TestReplicateAllowed$", "-test.v")
			c.Env, c.Dir = append(os.Environ(), fmt.Sprintf("%s=%s,%s,%s", envLeast, w.dir, p.ID, w.target())), "/"
			c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
			if out, err := c.CombinedOutput(); err != nil {
				return fmt.Errorf("%s: %w: %s", p.ID, err, out)
			}
		}
		return nil
	}
	target, source := w.target().Dataset, w.from.Name+"/db"
	anew := func(here, there string) { // as before the first point, with these rights
		sh(t, fmt.Sprintf("zfs unallow -u least %[1]s; for b in $(zfs list -H -r -t bookmark -o name %[1]s); do zfs destroy $b; done; ! zfs list %[2]s >/dev/null 2>&1 || zfs destroy -r %[2]s; %[3]s",
			source, target, strings.Join(holder(target), " ")))
		sh(t, "zfs allow -u least "+here+" "+source+"; zfs allow -u least "+there+" "+target)
	}
	rights := rightsIn(point.Allowed("replicate"))
	if len(rights) != 2 {
		t.Fatalf("the rights are %q", rights)
	}
	anew(rights[0], rights[1])
	must(t, send())
	w.same(t, points[1])
	for i, all := range rights {
		for one := range strings.SplitSeq(all, ",") {
			less := []string{rights[0], rights[1]}
			less[i] = strings.Trim(strings.Replace(","+all+",", ","+one+",", ",", 1), ",")
			anew(less[0], less[1])
			err := send()
			t.Logf("without %s: %v", one, err)
			if err == nil || !strings.Contains(err.Error(), one) {
				t.Errorf("without %s: %v", one, err)
			}
		}
	}
}

// rightsIn gives the rights that each line of a text of grants allows.
func rightsIn(text string) (all []string) {
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) > 4 && strings.HasPrefix(line, "zfs allow -u ") {
			all = append(all, f[4])
		}
	}
	return all
}
