package pgbackrest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"plumb/internal/backup/driven"
)

// stanza is what info --output=json says of one; see src/command/info/info.c. What can be null is so there.
type stanza struct {
	Name    string `json:"name"`
	Cipher  string `json:"cipher"`
	Archive []struct {
		ID  string `json:"id"`
		Min string `json:"min"`
		Max string `json:"max"`
		Of  struct {
			ID int `json:"id"`
		} `json:"database"`
	} `json:"archive"`
	Backup []entry `json:"backup"`
	DB     []struct {
		ID      int         `json:"id"`
		System  json.Number `json:"system-id"`
		Version string      `json:"version"`
	} `json:"db"`
	Status struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Lock    struct {
			Backup struct {
				Held bool `json:"held"`
			} `json:"backup"`
		} `json:"lock"`
	} `json:"status"`
}

// entry is one backup.
type entry struct {
	Label      string            `json:"label"`
	Type       string            `json:"type"`
	Prior      string            `json:"prior"`
	Error      bool              `json:"error"`
	Annotation map[string]string `json:"annotation"`
	Archive    struct {
		Start string `json:"start"`
		Stop  string `json:"stop"`
	} `json:"archive"`
	LSN struct {
		Start string `json:"start"`
		Stop  string `json:"stop"`
	} `json:"lsn"`
	Info struct {
		Size       int64 `json:"size"`
		Repository struct {
			Delta int64 `json:"delta"`
		} `json:"repository"`
	} `json:"info"`
	Timestamp struct {
		Start int64 `json:"start"`
		Stop  int64 `json:"stop"`
	} `json:"timestamp"`
	// With --set alone.
	Tablespace []target `json:"tablespace"`
	Link       []target `json:"link"`
}

type target struct {
	Destination string `json:"destination"`
}

// The annotations by which a proof is known on every machine.
const (
	proven = "plumb-proven"
	failed = "plumb-failed"
)

// codeNoBackup is the status of a stanza that is well and has no backup yet.
const codeNoBackup = 2

// info reads what info --output=json gave of one stanza.
func info(text []byte, name string) (f driven.Found, newest string, err error) {
	var all []stanza
	text = bytes.Map(func(r rune) rune { // what it could not decrypt it puts into a message as it is
		if r < ' ' {
			return ' '
		}
		return r
	}, text)
	if err := json.Unmarshal(text, &all); err != nil {
		return f, "", fmt.Errorf("what pgbackrest info gives is not understood: %w", err)
	}
	i := slices.IndexFunc(all, func(s stanza) bool { return s.Name == name })
	if i < 0 {
		return f, "", errors.New("pgbackrest info does not speak of the stanza " + name)
	}
	s := all[i]
	f = driven.Found{Running: s.Status.Lock.Backup.Held, Plain: s.Cipher == "none", Provable: true, Backups: []driven.Taken{}}
	if s.Status.Code != 0 && s.Status.Code != codeNoBackup {
		f.Wrong = strings.Join(strings.Fields(s.Status.Message), " ")
	}
	for _, e := range s.Backup {
		b, err := e.backup()
		if err != nil {
			return f, "", err
		}
		f.Backups = append(f.Backups, b)
	}
	slices.SortStableFunc(f.Backups, func(a, b driven.Taken) int { return a.Ended.Compare(b.Ended) })
	newestDB := 0
	for _, d := range s.DB {
		newestDB = max(newestDB, d.ID)
	}
	for _, a := range s.Archive { // of a server that was upgraded there are several
		if a.Of.ID == newestDB && (a.Max == "" || isSegment(a.Max)) {
			f.Newest, newest = a.Max, a.ID
		}
	}
	if newest != "" && !isArchive(newest) {
		return f, "", fmt.Errorf("the archive is called %.40q", newest)
	}
	return f, newest, nil
}

func (e entry) backup() (b driven.Taken, err error) {
	if !isLabel(e.Label) {
		return b, fmt.Errorf("a backup is called %.60q", e.Label)
	}
	b = driven.Taken{Label: e.Label, Type: driven.Type(e.Type), Needs: e.Prior, Damaged: e.Error, Bytes: e.Info.Size, Stored: e.Info.Repository.Delta,
		Began: at64(e.Timestamp.Start), Ended: at64(e.Timestamp.Stop), From: e.Archive.Start, To: e.Archive.Stop, FromLSN: e.LSN.Start, ToLSN: e.LSN.Stop}
	switch {
	case b.Type != driven.Full && b.Type != driven.Diff && b.Type != driven.Incr:
		return b, fmt.Errorf("backup %s is of the type %.20q", b.Label, e.Type)
	case b.Needs != "" && !isLabel(b.Needs):
		return b, fmt.Errorf("backup %s needs %.60q", b.Label, e.Prior)
	case b.From != "" && !isSegment(b.From) || b.To != "" && !isSegment(b.To):
		return b, fmt.Errorf("backup %s is whole with the log from %.40q to %.40q", b.Label, e.Archive.Start, e.Archive.Stop)
	case b.Ended.Before(b.Began) || b.Bytes < 0 || b.Stored < 0:
		return b, fmt.Errorf("backup %s ended before it began, or is smaller than nothing", b.Label)
	}
	b.Proven, _ = time.Parse(time.RFC3339, e.Annotation[proven])
	b.Failed, _ = time.Parse(time.RFC3339, e.Annotation[failed])
	for _, t := range append(e.Tablespace, e.Link...) {
		b.Elsewhere = append(b.Elsewhere, t.Destination)
	}
	return b, nil
}

// at64 is a time of the tool's; what is out of all reason is none.
func at64(s int64) time.Time {
	if s <= 0 || s > 1<<40 {
		return time.Time{}
	}
	return time.Unix(s, 0).UTC()
}

// isLabel tells whether a word is the label of a backup: 20261126-195300F, 20261126-195300F_20261127-010203I.
func isLabel(w string) bool {
	return len(w) >= 16 && len(w) <= 40 && strings.Trim(w, "0123456789-_FDI") == "" && w[0] != '-'
}

func isSegment(w string) bool { return len(w) == 24 && strings.Trim(w, "0123456789ABCDEF") == "" }

// isArchive tells whether a word is the name of an archive: 15-1.
func isArchive(w string) bool {
	return len(w) <= 20 && strings.Trim(w, "0123456789-.") == "" && w[0] != '-' && w[0] != '.'
}
