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
	rules, err := os.ReadFile("../../../knowledge/metrics/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	inRules := regexp.MustCompile(`plumb_backup\w+`).FindAllString(string(rules), -1)
	if len(inRules) < 5 {
		t.Errorf("the alert rules speak of %q", inRules)
	}
	names = append(names, inRules...)
	for _, name := range names {
		if families[name] == nil {
			t.Errorf("docs/backup.md, or alerts.yaml, speaks of %s", name)
		}
	}
}

// The exporter gives the same names, of what this host knows: what was never listed is not counted, and what is too old not shown.
func TestBackupsOfExporter(t *testing.T) {
	e, c := madeExporter(t, Options{})
	page := pageOf(t, e)
	got := parsed(t, page)
	unix := func(hours int) float64 {
		return float64(c.at.Truncate(time.Hour).Add(time.Duration(hours) * time.Hour).Unix())
	}
	for key, want := range map[string]float64{
		"plumb_backup_newest_timestamp_seconds from=file:///mnt/nas server=mysql:3306": unix(-6),
		"plumb_backup_newest_timestamp_seconds from=s3://b server=mysql:3306":          unix(-5),
		"plumb_backup_restored_timestamp_seconds from=s3://b server=mysql:3306":        unix(-4),
		"plumb_backups from=s3://b server=mysql:3306":                                  7,
		"plumb_backups_unusable from=s3://b":                                           2,
		"plumb_backups_listed_timestamp_seconds from=s3://b":                           unix(-1),
	} {
		if got[key] != want {
			t.Errorf("%s is %v and not %v", key, got[key], want)
		}
	}
	if n := strings.Count(page, "\nplumb_backup"); n != 6 {
		t.Errorf("%d samples", n)
	}
	c.pass(time.Hour)
	if page := pageOf(t, e); strings.Contains(page, "\nplumb_backup") {
		t.Error("what was read an hour ago is shown")
	}
}
