package pitr

import (
	"archive/tar"
	"io"
	"path"
	"regexp"
	"strconv"
	"strings"

	"plumb/internal/backup"
	"plumb/internal/engine/postgres/wal"
)

// The facts that a backup has of a base.
const (
	factSystem   = "postgres_system"
	factVersion  = "postgres_version"
	factStart    = "base_start_lsn"
	factEnd      = "base_end_lsn"
	factTimeline = "base_timeline"
	factLog      = "base_log" // whether it has the log without which no server starts on it; former versions did not say
)

const (
	logIncluded = "included"
	logNone     = "none"
)

var (
	startsAt   = regexp.MustCompile(`(?m)^START WAL LOCATION: ([0-9A-F]{1,8}/[0-9A-F]{1,8}) `)
	startsOn   = regexp.MustCompile(`(?m)^START TIMELINE: ([0-9]{1,10})$`)
	endsAt     = regexp.MustCompile(`"End-LSN": "([0-9A-F]{1,8}/[0-9A-F]{1,8})" *\}`)
	versionTxt = regexp.MustCompile(`^([0-9]{1,3})\n?$`)
)

// NewBase begins to watch what is backed up, and finds out whether it is a base backup: what pg_basebackup gives with
// -D - -Ft.
func NewBase() backup.Watcher {
	return backup.Watch(readBase, factSystem, factVersion, factStart, factTimeline)
}

func readBase(in io.Reader, facts map[string]string) error {
	t := tar.NewReader(in)
	for {
		h, err := t.Next()
		if err == io.EOF {
			if facts[factLog] == "" {
				facts[factLog] = logNone
			}
			return nil
		}
		if err != nil {
			return err
		}
		if err := readFile(facts, path.Clean(h.Name), t); err != nil {
			return err
		}
	}
}

func readFile(facts map[string]string, name string, r io.Reader) error {
	switch name {
	case "backup_label":
		text, err := io.ReadAll(io.LimitReader(r, mostText))
		find(facts, factStart, startsAt, text)
		find(facts, factTimeline, startsOn, text)
		return err
	case "PG_VERSION":
		text, err := io.ReadAll(io.LimitReader(r, 64))
		find(facts, factVersion, versionTxt, text)
		return err
	case "global/pg_control":
		text, err := io.ReadAll(io.LimitReader(r, 64))
		if system, bad := wal.System(text); bad == nil {
			facts[factSystem] = strconv.FormatUint(system, 10)
		}
		return err
	case "backup_manifest":
		end, err := lastOf(r)
		find(facts, factEnd, endsAt, end)
		return err
	}
	if dir, file := path.Split(name); dir == "pg_wal/" && segment.MatchString(file) {
		facts[factLog] = logIncluded
	}
	return nil
}

func find(facts map[string]string, fact string, at *regexp.Regexp, text []byte) {
	if m := at.FindSubmatch(text); m != nil {
		facts[fact] = strings.TrimSpace(string(m[1]))
	}
}

// lastOf gives the end of what is read: what the manifest says of the log comes behind all files.
func lastOf(r io.Reader) (end []byte, err error) {
	const keep = 4 << 10
	buf := make([]byte, 32<<10)
	for {
		n, err := r.Read(buf)
		end = append(end, buf[:n]...)
		end = end[max(0, len(end)-keep):]
		if err == io.EOF {
			return end, nil
		}
		if err != nil {
			return end, err
		}
	}
}
