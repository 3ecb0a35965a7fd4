package changetest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plumb/internal/catalog"
	"plumb/internal/change"
	"plumb/internal/edit"
	"plumb/internal/host"
	"plumb/internal/host/chroot"
	"plumb/internal/stack"
)

// sysctl is a setter of one knob in a scratch directory: the smallest one
// that has both halves.
type sysctl struct{}

func (sysctl) Kinds() []string { return []string{"host"} }

func (sysctl) Recipe(_ context.Context, _ host.Reader, _ *stack.Stack, w change.Want) (change.Recipe, error) {
	const file = "/proc/sys/vm/swappiness"
	return change.Recipe{Effect: catalog.Now, Lasts: "/etc/sysctl.d/99-zz-plumb.conf", Acts: []change.Act{
		{Switch: &change.Switch{On: file, Inspect: change.Inspection{File: file}, After: w.To.String(),
			Do:   []change.Op{{Write: &change.Write{File: file, Text: w.To.String()}}},
			Undo: []change.Op{{Write: &change.Write{File: file, Text: "{before}"}}}}},
		{Edit: &change.Edit{File: "/etc/sysctl.d/99-zz-plumb.conf", Form: edit.Sysctl, Key: "vm.swappiness", Value: w.To.String(), Ours: true, Note: "Read at boot."}},
		{Edit: &change.Edit{File: "/etc/sysctl.conf", Form: edit.Sysctl, Key: "vm.swappiness", Value: w.To.String()}},
	}}, nil
}

// scratch makes a directory that looks like a machine.
func scratch(t *testing.T) (string, Case) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"/proc/sys/vm/swappiness": "60\n",
		"/etc/sysctl.conf":        "# by hand\r\nvm.swappiness = 30\r\nnet.core.somaxconn=100\n",
	} {
		write(t, dir+name, text)
	}
	live := host.NewLive(host.LiveOptions{})
	doer := host.NewLiveDoer(live)
	t.Cleanup(func() { doer.Close() })
	fact := &catalog.Fact{Kind: "host", Name: "vm_swappiness", Type: catalog.Int, Knob: &catalog.Knob{Effect: catalog.Now}}
	cat := &catalog.Catalog{Kinds: map[string]*catalog.Kind{"host": {Name: "host", Facts: map[string]*catalog.Fact{fact.Name: fact}}}}
	return dir, Case{
		Doer: chroot.New(doer, dir), Setter: sysctl{}, Catalog: cat, Dir: "/var/lib/plumb",
		Observe: func() *stack.Stack {
			s := &stack.Stack{}
			var obs stack.Observation
			obs.New("host", "test").Set("vm_swappiness", stack.Int(60), "here")
			s.Add("test", obs)
			return s
		},
		Knob: stack.Knob{Of: stack.Ref{Kind: "host", Name: "test"}, Name: "vm_swappiness"}, To: stack.Int(10),
		State:  func() string { return tree(t, dir) },
		Meddle: func() { write(t, dir+"/proc/sys/vm/swappiness", "99\n") },
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	must(t, errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644)))
}

// tree gives all files but the journal.
func tree(t *testing.T, dir string) string {
	var b strings.Builder
	err := filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.Contains(name, "/var/lib/plumb/") {
			return err
		}
		text, err := os.ReadFile(name)
		b.WriteString(strings.TrimPrefix(name, dir) + ": " + string(text) + "\n")
		return err
	})
	must(t, err)
	return b.String()
}

func TestSuite(t *testing.T) {
	_, c := scratch(t)
	Run(t, c)
}
