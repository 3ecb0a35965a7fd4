package points

import (
	"path/filepath"
	"testing"

	"plumb/internal/protect"
	"plumb/internal/protect/clone"
	"plumb/test/sandbox"
)

// TestMaskMeetsForeignKeys: what belongs to a row that a mask deletes goes too, and a mask names tables as a person
// does who has just logged in.
func TestMaskMeetsForeignKeys(t *testing.T) {
	for _, of := range families {
		t.Run(of.name, func(t *testing.T) {
			b := on(t, grounds[1], of, 1024)
			in := "work."
			if b.server.Engine == "postgres" {
				in = "" // public, of the database postgres
			}
			must(t, b.server.Exec("CREATE TABLE "+in+"person (id INT PRIMARY KEY)", "CREATE TABLE "+in+"mail (person INT, FOREIGN KEY (person) REFERENCES "+in+"person (id) ON DELETE CASCADE)",
				"INSERT INTO "+in+"person VALUES (1), (2)", "INSERT INTO "+in+"mail VALUES (1), (2), (2)"))
			p, err := b.Take(t.Context(), b.plan(t), protect.TakeOptions{})
			must(t, err)
			m, port := clone.Maker{Maker: b.maker, Dir: filepath.Join(b.Books, "clones")}, sandbox.FreePort(t)
			c, err := m.Make(t.Context(), p, clone.Options{Name: "dev", Purpose: protect.ForUse, Port: port, Masks: []string{"DELETE FROM " + in + "person WHERE id = 2"}})
			must(t, err)
			defer func() { must(t, m.Drop(t.Context(), "dev")) }()
			db, err := b.socket(c.Run, port).Open()
			must(t, err)
			defer db.Close()
			var left int
			must(t, db.QueryRow("SELECT COUNT(*) FROM "+in+"mail").Scan(&left))
			if left != 1 {
				t.Errorf("%d mails are left, want 1", left)
			}
		})
	}
}
