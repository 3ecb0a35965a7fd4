package metrics

import (
	"bytes"
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"plumb/internal/backup"
	"plumb/internal/backup/manifest"
)

func TestBackups(t *testing.T) {
	at := time.Unix(1_800_000_000, 0)
	made := func(id, server, base string, age time.Duration, proof *manifest.Proof) backup.Found {
		f := backup.Found{Manifest: manifest.Manifest{ID: id, Server: server, Ended: at.Add(-age), Streams: []manifest.Stream{{Name: "dump"}}}, Proof: proof}
		if base != "" {
			f.Streams[0].Base = &manifest.Base{Backup: base}
		}
		return f
	}
	all := []backup.Found{
		made("a", "mariadb:3306", "", 3*time.Hour, &manifest.Proof{OK: true, At: at.Add(-time.Hour)}),
		made("b", "mariadb:3306", "a", 2*time.Hour, &manifest.Proof{At: at}), // which did not start
		made("c", "mariadb:3306", "gone", time.Hour, nil),
		made("d", "mariadb:3306", "c", time.Minute, nil), // needs what needs what is gone
		made("e", "", "", 5*time.Hour, nil),
		made("f", "x:1", "g", 0, nil), made("g", "x:1", "f", 0, nil), // in a circle
		{Manifest: manifest.Manifest{ID: "h"}, Err: errors.New("torn")},
	}
	var out bytes.Buffer
	if err := Backups(&out, "s3://b\"/\n", all, at); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"plumb_backups{from=\"s3://b\\\"/?~", `server="mariadb:3306"} 2`, `server="command:dump"} 1`,
		`plumb_backups_unusable{`, `} 5`, `server="mariadb:3306"} 1.7999928e+09`, `server="mariadb:3306"} 1.7999964e+09`, "plumb_backups_listed_timestamp_seconds{", "} 1.8e+09",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, &out)
		}
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(out.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(families["plumb_backup_restored_timestamp_seconds"].GetMetric()); n != 1 {
		t.Errorf("restored: %d", n)
	}
	// The alert rules of the page are about names that there are.
	page, err := os.ReadFile("../../../docs/backup.md")
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`plumb_backup\w+`).FindAllString(string(page), -1)
	for _, name := range names {
		if families[name] == nil {
			t.Errorf("docs/backup.md speaks of %s", name)
		}
	}
	if len(names) < 6 {
		t.Errorf("the page speaks of %q", names)
	}
}
