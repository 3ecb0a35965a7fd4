package backup

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plumb/internal/host"
)

func TestNameOf(t *testing.T) {
	for line, want := range map[string]string{
		"mariadb-backup --backup --stream=mbstream": "mariadb-backup",
		"PGPASSWORD=s3cret pg_dump db":              "pg_dump",
		"A=b C='s3 cret word' /usr/bin/pg_dump db":  "pg_dump",
		`A="s3 cret's" B=c pg_dump`:                 "pg_dump",
		"  /opt/a=b/bin/dump":                       "dump",
		"(pg_dump a; pg_dump b)":                    "pg_dump",
		"{ pg_dump a; pg_dump b; }":                 "pg_dump",
		`PGPASSWORD=s3\ cret pg_dump db`:            "command",
		"PGPASSWORD=$(echo s3 cret) pg_dump db":     "command",
		"PGPASSWORD=`echo s3 cret` pg_dump db":      "command",
		"X=y":                                       "command",
		"":                                          "command",
	} {
		if got := NameOf(line); got != want {
			t.Errorf("%q is called %q, and not %q", line, got, want)
		}
	}
}

// A pipeline of which the first part broke off makes no backup.
func TestPipelineBreaksOff(t *testing.T) {
	w := newWorld(t)
	argv := Line(t.Context(), w.Do, "", "(echo half; exit 3) | cat")
	if len(argv) == 3 {
		t.Skip("no shell here tells whether a part of a pipeline failed")
	}
	var out bytes.Buffer
	if flow, err := w.Do.Pipe(t.Context(), host.Pipe{Argv: argv, Out: &out}); err == nil || flow.Code != 3 || out.String() != "half\n" {
		t.Errorf("%+v, %v, %q", flow, err, &out)
	}
}

// A line is run by somebody whose home has logins.
func TestLineIsSomebodys(t *testing.T) {
	w := newWorld(t)
	var out bytes.Buffer
	if _, err := w.Do.Pipe(t.Context(), host.Pipe{Argv: Line(t.Context(), w.Do, "/home/some body", "echo $HOME"), Out: &out}); err != nil || out.String() != "/home/some body\n" {
		t.Errorf("%q, %v", &out, err)
	}
}

// What is secret in a line is neither in an error nor in what is written down of a run that can go on.
func TestLineIsToldWithoutSecrets(t *testing.T) {
	const secret = "s3cretS3CRET"
	w := newWorld(t)
	job := command("exit 3")
	job.Name = "command mysqldump --password=" + secret + " db"
	if _, err := w.Run(t.Context(), job); err == nil || strings.Contains(err.Error(), secret) || !strings.Contains(err.Error(), "mysqldump") {
		t.Errorf("%v", err)
	}
	files := 0
	err := filepath.WalkDir(w.Dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		if files++; bytes.Contains(text, []byte(secret)) {
			t.Errorf("%s has it", name)
		}
		return err
	})
	if left, _ := filepath.Glob(w.Dir + "/running/*.log"); err != nil || files == 0 || len(left) != 1 {
		t.Errorf("%d files, %v, %v", files, left, err)
	}
	res, err := w.Run(t.Context(), job)
	if err == nil || res.ID != "" && !res.GoesOn {
		t.Errorf("%+v, %v", res, err)
	}
}
