package real

import (
	"testing"

	"plumb/internal/stack"
	"plumb/test/sandbox"
)

// TestServersInTheirOwnNamespace: a server whose files are seen only through
// its own mounts is found, logged in to and placed.
func TestServersInTheirOwnNamespace(t *testing.T) {
	for _, engine := range []string{"mysql", "postgres"} {
		t.Run(engine, func(t *testing.T) {
			b := box(t)
			wrap, err := b.Namespace()
			check(t, err)
			var srv *sandbox.Server
			if engine == "mysql" {
				srv, err = b.MySQL(sandbox.MySQLOptions{Port: freePort(t), Wrap: wrap})
			} else {
				srv, err = b.Postgres(sandbox.PostgresOptions{Port: freePort(t), Wrap: wrap})
			}
			check(t, err)
			s := look(t)
			db := s.Find(refOf(t, s, srv))
			if in, _ := db.Bool("logged_in"); !in {
				gap, _ := s.GapFor(db.Ref, "version")
				t.Errorf("not logged in: %+v", gap)
			}
			process, _ := s.Follow(db, "process")
			if own, known := process[0].Bool("own_mounts"); !own || !known {
				t.Errorf("own_mounts is %v, known %v", own, known)
			}
			if root, known := process[0].Bool("own_root"); root || !known {
				t.Errorf("own_root is %v, known %v: it has our root directory", root, known)
			}
			if data, known := s.Follow(db, "data"); !known || len(data) != 1 || data[0].Facts["fstype"].Value.Equal(stack.Text("")) {
				t.Errorf("data placed on %v, known %v", data, known)
			}
		})
	}
}
