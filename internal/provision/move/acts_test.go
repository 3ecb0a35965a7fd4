package move

import (
	"io/fs"
	"slices"
	"testing"

	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/product"
	"plumb/internal/provision"
)

// A server that crashed in its new place is started again by its unit: an undo stops that although nobody listens. A person's own
// command may fail where nothing runs, and is left out then.
func TestAServerThatCrashedIsStopped(t *testing.T) {
	for _, c := range []struct {
		stop   []string
		always bool
	}{{[]string{"systemctl", "stop", "--", "mariadb.service"}, true}, {[]string{"/usr/local/bin/stop-db"}, false}} {
		p := planning{Move: provision.Move{Stop: c.stop}}
		s := p.starting()
		if s.Always != c.always || len(s.Undo) != 1 || !slices.Contains(s.Undo[0].Argv, c.stop[len(c.stop)-1]) {
			t.Errorf("%q: always %v, %+v", c.stop, s.Always, s.Undo)
		}
	}
}

// PostgreSQL writes a checkpoint before it is stopped, not while everybody waits. Others have no such statement.
func TestACheckpointComesBeforeTheStop(t *testing.T) {
	for kind, want := range map[string]string{product.Postgres: "CHECKPOINT", product.MySQL: ""} {
		p := planning{Move: provision.Move{Home: provision.Home{Target: host.Target{Engine: kind}}, Stop: []string{"stop"}}}
		do := p.stopping().Do
		if first := do[0].Statement; first != want || do[len(do)-2].Argv[0] != "stop" || want != "" && do[0].Target == nil {
			t.Errorf("%s: %+v", kind, do)
		}
	}
}

// systemd makes its mount units from fstab: where it runs it is told of the line, and once the line is taken out again.
func TestSystemdIsToldOfTheMount(t *testing.T) {
	v := provision.Volume{At: "/var/lib/db", Aside: "/srv/db/data"}
	for want, on := range map[string]hosttest.Map{
		"":                        {},
		"systemctl daemon-reload": {Stats: map[string]host.Stat{host.SystemdRuntime: {Mode: fs.ModeDir}}},
	} {
		p := planning{h: on, data: v}
		must(t, p.mount(t.Context(), v))
		e := p.acts[len(p.acts)-1].Edit // its Apply is run after the edit and after its undo
		if e == nil || (e.Apply == nil) != (want == "") || e.Apply != nil && e.Apply.String() != want {
			t.Errorf("want %q: %+v", want, e)
		}
	}
}
