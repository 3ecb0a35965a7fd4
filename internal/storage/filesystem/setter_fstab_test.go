package filesystem

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plumb/internal/change"
	"plumb/internal/change/changetest"
	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/stack"
	"plumb/test/sandbox"
)

// ownFstab is this machine with an fstab of the test's own.
type ownFstab struct {
	host.Doer
	file string
}

func (o ownFstab) name(name string) string {
	if name == fstab {
		return o.file
	}
	return name
}

func (o ownFstab) ReadFile(ctx context.Context, name string) ([]byte, error) {
	return o.Doer.ReadFile(ctx, o.name(name))
}
func (o ownFstab) Raw(ctx context.Context, name string) ([]byte, error) {
	return o.Doer.Raw(ctx, o.name(name))
}
func (o ownFstab) Replace(ctx context.Context, name string, text []byte, perm os.FileMode) error {
	return o.Doer.Replace(ctx, o.name(name), text, perm)
}
func (o ownFstab) Remove(ctx context.Context, name string) error {
	return o.Doer.Remove(ctx, o.name(name))
}
func (o ownFstab) Tidy(ctx context.Context, name string) error {
	return o.Doer.Tidy(ctx, o.name(name))
}
func (o ownFstab) Writable(ctx context.Context, name string) error {
	return o.Doer.Writable(ctx, o.name(name))
}

func (o ownFstab) observe() *stack.Stack {
	s := &stack.Stack{}
	obs, err := Probe{}.Collect(context.Background(), o, s)
	if err != nil {
		panic(err)
	}
	s.Add("filesystem", obs)
	return s
}

// The suite on both halves: a line of fstab that says something else than what
// is mounted, which a remount must not take up, and options that only a new
// mount changes.
func TestSuiteWithFstab(t *testing.T) {
	sandbox.NeedLong(t, "mounts filesystems: run without -short")
	box := sandbox.ForTest(t, "")
	cat := hosttest.Catalog(t)
	doer := hosttest.LiveDoer(t)
	for _, c := range []struct {
		fstype, knob, options string
		to                    stack.Value
		line, want            string
	}{
		{"ext4", "atime", "nosuid", stack.Text("noatime"), "defaults,noexec,discard", "defaults,noexec,discard,noatime"},
		{"ext4", "barrier", "nobarrier", stack.Bool(true), "nobarrier,nodev", "nodev"},
		{"ext4", "data_mode", "data=journal", stack.Text("ordered"), "noatime,data=journal", "noatime,data=ordered"},
		{"xfs", "discard", "discard", stack.Bool(false), "discard", "defaults"},
		{"xfs", "fstab_options", "noatime", stack.List([]string{"noatime"}), "noatime,nobarrier,ikeep", "noatime"},
	} {
		t.Run(c.fstype+" "+c.knob, func(t *testing.T) {
			point, err := box.Filesystem("f-"+c.fstype+"-"+c.knob, c.fstype, 320, []string{"-q"}, c.options)
			sandbox.Need(t, err)
			o := ownFstab{doer, filepath.Join(t.TempDir(), "fstab")}
			text := "# mine\nUUID=1 / ext4 defaults 0 1\r\nUUID=2\t" + point + " " + c.fstype + "  " + c.line + " 0 2"
			if err := os.WriteFile(o.file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			state := func() string {
				text, err := os.ReadFile(o.file)
				if err != nil {
					t.Fatal(err)
				}
				return mountLine(t, point) + string(text)
			}
			k := stack.Knob{Of: stack.Ref{Kind: "filesystem", Name: point}, Name: c.knob}
			changetest.Run(t, changetest.Case{Doer: o, Setter: Setter{}, Catalog: cat, Dir: changetest.Journal(t.TempDir()), Few: 60, Knob: k, To: c.to, Observe: o.observe, State: state})
			r, err := Setter{}.Recipe(t.Context(), o, o.observe(), change.Want{Knob: k, To: c.to, Fact: cat.Fact("filesystem", c.knob)})
			if err != nil || len(r.Acts) == 0 || r.Lasts != fstab || (r.Waits != "") != (len(r.Acts) == 1) {
				t.Fatalf("%+v, %v", r, err)
			}
			if e := r.Acts[len(r.Acts)-1].Edit; e == nil || e.Value != c.want {
				t.Errorf("fstab gets %+v, want %s", e, c.want)
			}
		})
	}
}

// mountLine gives the line of a mount point in mountinfo.
func mountLine(t *testing.T, point string) string {
	t.Helper()
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

// What fstab says of a mount tells where its options are from, and what the
// next mount brings.
func TestOptionsAndFstab(t *testing.T) {
	h := hosttest.Map{Files: map[string]string{
		"/proc/self/mountinfo": "30 1 8:1 / /a rw,noatime - xfs /dev/sda1 rw,discard\n31 1 8:2 / /b rw,noatime,lazytime - xfs /dev/sda2 rw\n32 1 0:40 / /n rw,relatime - nfs4 s:/x rw,soft,vers=4.2\n",
		fstab:                  "/dev/sda1 /a xfs noatime\n/dev/sda2 /b xfs discard,nolazytime\n",
	}}
	var s stack.Stack
	obs, err := Probe{}.Collect(t.Context(), h, &s)
	if err != nil {
		t.Fatal(err)
	}
	s.Add("filesystem", obs)
	for _, c := range []struct {
		point, knob, value, from, next string
	}{
		{"/a", "atime", "noatime", stack.FromFile, ""}, {"/a", "discard", "on", "", ""}, {"/a", "lazytime", "off", stack.FromDefault, ""},
		{"/b", "atime", "noatime", stack.FromRuntime, "relatime"}, {"/b", "discard", "off", stack.FromRuntime, "on"}, {"/b", "lazytime", "on", stack.FromRuntime, "off"},
		{"/n", "nfs_timeout", "soft", "", ""}, {"/n", "atime", "absent", "", ""},
	} {
		f := s.Find(stack.Ref{Kind: "filesystem", Name: c.point}).Facts[c.knob]
		from, next := "", ""
		if f.Origin != nil {
			from = f.Origin.From
		}
		if f.Next != nil {
			next = f.Next.Value.String()
		}
		if f.Value.String() != c.value || from != c.from || next != c.next {
			t.Errorf("%s %s: %v from %q, next %q; want %+v", c.point, c.knob, f.Value, from, next, c)
		}
	}
}

func TestSetterRefuses(t *testing.T) {
	var obs stack.Observation
	for point, facts := range map[string]map[string]stack.Value{
		"/":     {"fstype": stack.Text("ext4"), "data_mode": stack.Text("journal")},
		"/bind": {"fstype": stack.Text("ext4"), "mount_root": stack.Text("/x"), "atime": stack.Text("relatime")},
		"/x":    {"fstype": stack.Text("xfs"), "discard": stack.Bool(false), "fstab_options": stack.List([]string{"discard"})},
		"/y":    {"fstype": stack.Text("xfs"), "discard": stack.Bool(false)},
	} {
		f := obs.New("filesystem", point)
		for name, v := range facts {
			f.Set(name, v, "test")
		}
	}
	var s stack.Stack
	s.Add("test", obs)
	h := hosttest.Map{Files: map[string]string{fstab: "/dev/x /x xfs discard,ikeep\n"}}
	for _, c := range []struct {
		point, knob string
		to          stack.Value
		want        string
	}{
		{"/", "data_mode", stack.Text("ordered"), "before /etc/fstab is read"}, {"/bind", "atime", stack.Text("noatime"), "bind mount"},
		{"/y", "discard", stack.Bool(true), "only a new mount"}, {"/x", "atime", stack.Text("noatime"), "no such option"},
		{"/x", "fstab_options", stack.List([]string{"discard", "nobarrier"}), "more would change"}, {"/x", "fstab_options", stack.List([]string{"ikeep"}), "more would change"},
	} {
		_, err := Setter{}.Recipe(t.Context(), h, &s, change.Want{Knob: stack.Knob{Of: stack.Ref{Kind: "filesystem", Name: c.point}, Name: c.knob}, To: c.to})
		if r, ok := errors.AsType[*change.Refusal](err); !ok || !strings.Contains(r.Why, c.want) {
			t.Errorf("%s %s: %v", c.point, c.knob, err)
		}
	}
}
