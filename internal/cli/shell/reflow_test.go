package shell

import "testing"

func TestReflow(t *testing.T) {
	const help = "Snapshot takes a point of a server,\nwith its position.\n\nThere are modes:\n  crash   nobody waits\n  locked  commits wait while it is taken, which can be long\n--dry-run shows each.\n\nExit codes:\n  0  done"
	for width, want := range map[int]string{
		20: "Snapshot takes a\npoint of a server,\nwith its position.\n\nThere are modes:\n  crash   nobody waits\n  locked  commits wait while it is taken, which can be long\n--dry-run shows\neach.\n\nExit codes:\n  0  done",
		80: "Snapshot takes a point of a server, with its position.\n\nThere are modes:\n  crash   nobody waits\n  locked  commits wait while it is taken, which can be long\n--dry-run shows each.\n\nExit codes:\n  0  done",
	} {
		if got := Reflow(help, width); got != want {
			t.Errorf("at %d columns:\n%s\nwant\n%s", width, got, want)
		}
	}
	if got := Reflow("", 80); got != "" {
		t.Errorf("%q", got)
	}
}
