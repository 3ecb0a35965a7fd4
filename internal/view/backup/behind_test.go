package backup

import (
	"strings"
	"testing"
	"time"

	"plumb/internal/archive"
	"plumb/internal/backup"
	"plumb/internal/backup/manifest"
	"plumb/internal/view/page"
)

// A base without its log says so, and how much that means; of others, and of one with its log, nothing is said.
func TestBehind(t *testing.T) {
	yes, no := true, false
	for want, b := range map[string]archive.Behind{
		"the archive has no log for this base backup: it can be restored as it was when it ended, and to no later moment.": {Alone: &yes},
		"the archive has no log for this base backup: without the log no server starts on it.":                             {Alone: &no},
		"the archive has no log for this base backup: at best it can be restored as it was when it ended.":                 {},
		"is not its log (archive/x is not believed): it can be restored":                                                   {Log: true, Alone: &yes, Doubt: "archive/x is not believed"},
		"lacks the log position at which this base backup begins: it can be restored":                                      {Log: true, Alone: &yes},
	} {
		if got := Behind(b); !strings.Contains(got, want) {
			t.Errorf("%q, and it should say %q", got, want)
		}
	}
	found := func(id string) backup.Found {
		return backup.Found{Manifest: manifest.Manifest{ID: id, Server: "mysql:3306", Ended: time.Now(), Streams: []manifest.Stream{{Name: "x"}}}, By: "plumb-db1"}
	}
	all := []backup.Found{found("a-dump"), found("alone"), found("archived"), found("nothing"), found("forged")}
	behind := map[string]archive.Behind{"alone": {Alone: &yes}, "archived": {Archived: true, Log: true, Alone: &no}, "nothing": {Log: true, Alone: &no}, "forged": {Log: true, Alone: &yes, Doubt: "archive/x is not believed"}}
	text := strings.Join(strings.Fields(List("file:///x", all, behind, page.Screen{Width: 80})), " ")
	for id, want := range map[string]string{"a-dump": "0 bytes, signed by", "alone": "0 bytes, no log archived for it, signed by", "archived": "0 bytes, signed by",
		"nothing": "0 bytes, no log archived for it, without which no server starts on it, signed by", "forged": "0 bytes, no log archived for it (archive/x is not believed), signed by"} {
		if !strings.Contains(text, " "+id+" mysql:3306, "+want) {
			t.Errorf("%s: %q is not in\n%s", id, want, text)
		}
	}
	for i, one := range ListDocument("file:///x", all, behind).Backups {
		b, is := behind[all[i].ID]
		if (one.Behind != nil) != is || is && *one.Behind != b {
			t.Errorf("%s: %+v", one.ID, one.Behind)
		}
	}
}

// A backup whose base is gone is not listed as if it could be restored.
func TestListLacks(t *testing.T) {
	f := backup.Found{Manifest: manifest.Manifest{ID: "next", Server: "mysql:3306", Streams: []manifest.Stream{{Name: "x", Base: &manifest.Base{Backup: "gone"}}}}, By: "plumb-db1"}
	text := strings.Join(strings.Fields(List("file:///x", []backup.Found{f}, nil, page.Screen{Width: 80})), " ")
	if !strings.Contains(text, "needs gone, cannot be restored: gone is missing, or not trusted, signed by") {
		t.Error(text)
	}
	if one := ListDocument("file:///x", []backup.Found{f}, nil).Backups[0]; one.Lacks != "gone" {
		t.Errorf("%+v", one)
	}
}

// Of bases that were copied without their log it is said how many there are, and what they are worth.
func TestCopiedBehind(t *testing.T) {
	yes, no := true, false
	for want, all := range map[string]map[string]archive.Behind{
		"": {"archived": {Archived: true, Alone: &no}},
		"of 1 base backup is not in file:///x, because it is not copied: without the log, no server starts on such a base backup": {"a": {Alone: &no}, "b": {Archived: true}},
		"of 2 base backups is not in file:///x, because it is not copied: without the log, no server starts on 1 of them":         {"a": {Alone: &no}, "b": {Log: true, Alone: &yes}},
		"without the log, such a base backup can be restored as it was when it ended, at best":                                    {"a": {}, "b": {Alone: &yes}},
	} {
		if got := CopiedBehind("file:///x", all); !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("%q, and it should say %q", got, want)
		}
	}
}
