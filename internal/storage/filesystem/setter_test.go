package filesystem

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plumb/internal/change"
	"plumb/internal/change/changetest"
	"plumb/internal/change/draft"
	"plumb/internal/host/chroot"
	"plumb/internal/host/hosttest"
	"plumb/internal/stack"
	"plumb/test/sandbox"
)

// The conformance suite on ext4 and XFS on loop devices. They are not in
// fstab, so this is the half that works at once.
func TestSuiteOnLoopDevices(t *testing.T) {
	sandbox.NeedLong(t, "mounts filesystems: run without -short")
	box := sandbox.ForTest(t, "")
	cat := hosttest.Catalog(t)
	doer := hosttest.LiveDoer(t)
	for _, c := range []struct {
		fstype, knob, options string
		to                    stack.Value
	}{
		{"ext4", "atime", "nosuid,nodev,lazytime,nosymfollow", stack.Text("noatime")}, {"ext4", "barrier", "nobarrier,strictatime", stack.Bool(true)},
		{"ext4", "discard", "noatime", stack.Bool(true)}, {"ext4", "lazytime", "nodev,noatime,commit=30", stack.Bool(true)},
		{"xfs", "atime", "noexec,strictatime", stack.Text("relatime")}, {"btrfs", "atime", "noexec,commit=9", stack.Text("noatime")},
	} {
		t.Run(c.fstype+" "+c.knob, func(t *testing.T) {
			mkfs := []string{"-q"}
			point, err := box.Filesystem(c.fstype+"-"+c.knob, c.fstype, 320, mkfs, c.options)
			sandbox.Need(t, err)
			mounted := func() string {
				text, err := os.ReadFile("/proc/self/mountinfo")
				if err != nil {
					t.Fatal(err)
				}
				for line := range strings.Lines(string(text)) {
					if strings.Contains(line, " "+point+" ") {
						return line
					}
				}
				t.Fatal("not mounted any more")
				return ""
			}
			changetest.Run(t, changetest.Case{Doer: doer, Setter: Setter{}, Catalog: cat, Dir: changetest.Journal(t.TempDir()), Few: 60, Unsafe: true,
				Knob: stack.Knob{Of: stack.Ref{Kind: "filesystem", Name: point}, Name: c.knob}, To: c.to,
				Observe: func() *stack.Stack {
					s := &stack.Stack{}
					obs, err := Probe{}.Collect(context.Background(), doer, s)
					if err != nil {
						t.Fatal(err)
					}
					s.Add("filesystem", obs)
					return s
				},
				State: mounted})
		})
	}
}

// The lasting half: the options of the line in fstab, and nothing else of it.
func TestFstabOfAnImage(t *testing.T) {
	dir := t.TempDir()
	text := "# made by hand\nUUID=1\t/srv/my\\040db  ext4\tdefaults,noatime,nobarrier 0 2 # x\nUUID=2 / xfs defaults 0 1\n"
	if err := errors.Join(os.Mkdir(dir+"/etc", 0o755), os.WriteFile(dir+"/etc/fstab", []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
	doer := hosttest.LiveDoer(t)
	under := chroot.New(doer, dir)
	cat := hosttest.Catalog(t)
	k := &change.Executor{Doer: under, Dir: "/var/lib/plumb", Plumb: "test", Now: time.Now}
	for _, c := range []struct {
		point, knob string
		to          stack.Value
		want        string
	}{
		{"/srv/my db", "barrier", stack.Bool(true), strings.Replace(text, ",nobarrier", "", 1)},
		{"/srv/my db", "atime", stack.Text("relatime"), strings.Replace(text, ",noatime,nobarrier", ",nobarrier", 1)},
		{"/", "discard", stack.Bool(true), strings.Replace(text, "xfs defaults", "xfs defaults,discard", 1)},
	} {
		step := change.Step{Knob: stack.Knob{Of: stack.Ref{Kind: "filesystem", Name: c.point}, Name: c.knob}, To: c.to}
		d, err := draft.Maker{Doer: under, Stack: &stack.Stack{}, Catalog: cat, Setters: []change.Setter{Setter{}}, Dir: k.Dir, Image: true}.Prepare(t.Context(), []change.Step{step})
		if err != nil || len(d.Steps) != 1 {
			t.Fatalf("%+v, %v", d, err)
		}
		out, err := k.Apply(t.Context(), d, change.ApplyOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(dir, "etc/fstab")); err != nil || string(got) != c.want {
			t.Errorf("%s: %q, %v", c.knob, got, err)
		}
		if err := k.Undo(t.Context(), []int{out.Number}, change.UndoOptions{}); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(dir, "etc/fstab")); err != nil || string(got) != text {
			t.Errorf("undone: %q, %v", got, err)
		}
	}
	missing := change.Want{Knob: stack.Knob{Of: stack.Ref{Kind: "filesystem", Name: "/nowhere"}, Name: "atime"}, To: stack.Text("noatime"), Image: true}
	if _, err := (Setter{}).Recipe(t.Context(), under, &stack.Stack{}, missing); err == nil {
		t.Error("a mount point that is in no fstab was taken")
	}
}
