package propose

import (
	"testing"

	"plumb/internal/provision/spec"
	"plumb/internal/stack"
)

// A btrfs that is made overwrites its pages; one that somebody has mounted does as it is mounted, and unknown is not no.
func TestCopiesIsWhatIsMounted(t *testing.T) {
	p := &planning{}
	p.Spec.Filesystem = &spec.Filesystem{Type: "btrfs", At: "/srv"}
	for name, c := range map[string]struct {
		new, seen  bool
		cow, known bool
	}{"made": {true, true, false, true}, "mounted": {false, true, true, true}, "mounted and not seen": {false, false, false, false}} {
		p.Stack = hostOf("btrfs", "/dev/vdb", nil)
		fs := p.Stack.Find(stack.Ref{Kind: "filesystem", Name: "/srv"})
		fs.Set("mountpoint", stack.Text("/srv"), "test")
		if c.seen {
			fs.Set("cow", stack.Bool(true), "test")
		}
		got, known := p.copies(c.new)
		if cow, _ := got.Bool(); known != c.known || known && cow != c.cow {
			t.Errorf("%s: %v, known %v", name, got, known)
		}
	}
}
