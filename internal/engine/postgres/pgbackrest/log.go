package pgbackrest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"plumb/internal/engine/postgres/wal"
)

// segments reads the files of the log from what repo-ls --recurse --output=json gives of the archive. There, a file is
// called TIMELINE-AND-PLACE-HASH.zst, below a directory of the first 16 digits.
func segments(text []byte) (all []string, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.New("what pgbackrest repo-ls gives is not understood")
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, fmt.Errorf("what pgbackrest repo-ls gives is not understood: %w", err)
		}
		var file struct {
			Type string `json:"type"`
		}
		if err := d.Decode(&file); err != nil {
			return nil, fmt.Errorf("what pgbackrest repo-ls gives is not understood: %w", err)
		}
		word, _ := name.(string)
		if base := path.Base(word); file.Type == "file" && len(base) > 25 && base[24] == '-' && isSegment(base[:24]) {
			all = append(all, base[:24])
		}
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// next gives the segment behind one, of files of a size.
func next(segment string, size int64) string {
	high, _ := strconv.ParseUint(segment[8:16], 16, 32)
	low, _ := strconv.ParseUint(segment[16:], 16, 32)
	if low++; low >= uint64(1<<32)/uint64(size) {
		high, low = high+1, 0
	}
	return fmt.Sprintf("%s%08X%08X", segment[:8], uint32(high), uint32(low))
}

// mostHoles are told; more are only counted.
const mostHoles = 5

// holes finds what is missing of the log from a segment on. A timeline begins anywhere: what lies before it is on
// another.
func holes(all []string, from string, size int64) (found []string) {
	if !wal.IsSize(uint64(size)) {
		return nil
	}
	more, last := 0, ""
	for _, s := range all {
		if s[8:] < from[8:] {
			continue
		}
		switch {
		case last == "" || s[:8] != last[:8]:
			if last == "" && s[:8] == from[:8] && s != from {
				found = append(found, fmt.Sprintf("%s to before %s", from, s))
			}
		case s != next(last, size):
			if len(found) < mostHoles {
				found = append(found, fmt.Sprintf("behind %s, up to before %s", last, s))
			} else {
				more++
			}
		}
		last = s
	}
	if last == "" {
		found = append(found, "nothing is there from "+from+" on")
	}
	if more > 0 {
		found = append(found, fmt.Sprintf("and %d more", more))
	}
	return found
}

// timeline is that of a segment.
func timeline(segment string) int {
	n, _ := strconv.ParseUint(strings.ToUpper(segment[:8]), 16, 31)
	return int(n)
}
