package metrics

import (
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"plumb/internal/archive"
)

// What a service that archives says is exported, and what is wrong with it is counted as it was when it was read: minutes later it
// is no more silent than then. What is not known has no series.
func TestArchivesOfExporter(t *testing.T) {
	e, c := madeExporter(t, Options{})
	at := c.at
	ill := archive.Source{Name: "write-ahead log", Kept: at.Add(-time.Hour)}
	ill.Ill(errors.New("no bucket"), at.Add(-time.Minute))
	e.Archived([]archive.Status{
		{Name: "main", Alive: at.Add(-10 * time.Second), Since: at.Add(-time.Hour), Sources: []archive.Source{ill, {Name: "mysql", Follows: true, Kept: at.Add(-time.Minute), Whole: at.Add(-4 * time.Second)}}},
		{Name: "gone", Alive: at.Add(-2 * time.Minute), Sources: []archive.Source{{Name: "orders", Follows: true, Whole: at.Add(-3 * time.Hour), Breaks: []string{"then: it was reset"}}}},
		{Name: "new", Alive: at, Since: at},
	})
	c.pass(9 * time.Minute)
	page := pageOf(t, e)
	got := parsed(t, page)
	for key, want := range map[string]float64{
		"plumb_archive_troubles service=main":                                   1,
		"plumb_archive_troubles service=gone":                                   3,
		"plumb_archive_troubles service=new":                                    0,
		"plumb_archive_reported_timestamp_seconds service=gone":                 float64(at.Add(-2 * time.Minute).Unix()),
		"plumb_archive_kept_timestamp_seconds log=mysql service=main":           float64(at.Add(-time.Minute).Unix()),
		"plumb_archive_whole_timestamp_seconds log=mysql service=main":          float64(at.Add(-4 * time.Second).Unix()),
		"plumb_archive_whole_timestamp_seconds log=orders service=gone":         float64(at.Add(-3 * time.Hour).Unix()),
		"plumb_archive_kept_timestamp_seconds log=write-ahead log service=main": float64(at.Add(-time.Hour).Unix()),
	} {
		if is, there := got[key]; !there || is != want {
			t.Errorf("%s is %v and not %v", key, is, want)
		}
	}
	if n := strings.Count(page, "\nplumb_archive_"); n != 10 {
		t.Errorf("%d samples:\n%s", n, page)
	}
	namesAreThere(t, page)
	c.pass(time.Hour)
	if strings.Contains(pageOf(t, e), "\nplumb_archive_") {
		t.Error("what was read an hour ago is shown")
	}
}

// namesAreThere: the page of the archive and the alert rules are about names that there are.
func namesAreThere(t *testing.T, page string) {
	t.Helper()
	for file, least := range map[string]int{"../../../docs/archive.md": 3, "../../../knowledge/metrics/alerts.yaml": 2} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		names := regexp.MustCompile(`plumb_archive_\w+`).FindAllString(string(text), -1)
		if len(names) < least {
			t.Errorf("%s speaks of %q", file, names)
		}
		for _, name := range names {
			if !strings.Contains(page, "\n"+name+"{") {
				t.Errorf("%s speaks of %s", file, name)
			}
		}
	}
}
