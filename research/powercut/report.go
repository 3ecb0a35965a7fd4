package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// outcome is what was found after a power cut.
type outcome struct {
	Mounted      bool     `json:"mounted"`
	Started      bool     `json:"started"`
	Acknowledged int64    `json:"acknowledged"`
	Lost         int64    `json:"lost"`
	Extra        int64    `json:"extra"`
	Bad          []string `json:"bad,omitempty"`     // checks that found something
	Good         []string `json:"good,omitempty"`    // checks that found nothing
	Skipped      []string `json:"skipped,omitempty"` // checks that this guest has no program for
	// Said has, for what went wrong, the end of what the server or the check said.
	Said map[string]string `json:"said,omitempty"`
}

// failedStart says that the storage or the server did not come up.
func (o outcome) failedStart() bool { return !o.Mounted || !o.Started }

// Bounds of what a guest may say.
const (
	mostReport = 64 << 10
	mostLines  = 200
	mostSaid   = 4 << 10 // of each file that is kept
)

var (
	errUnfinished = errors.New("the guest did not go to its end")
	errSkipped    = errors.New("this guest cannot do it")
)

// parseReport reads the lines "KEY VALUE..." that a guest noted.
func parseReport(data []byte) (outcome, error) {
	var o outcome
	if len(data) > mostReport {
		return o, fmt.Errorf("a report of %d bytes", len(data))
	}
	done, lines := false, 0
	for line := range strings.Lines(string(data)) {
		if lines++; lines > mostLines {
			return o, fmt.Errorf("a report of more than %d lines", mostLines)
		}
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch key {
		case "skip":
			return o, fmt.Errorf("%w: %s", errSkipped, value)
		case "fail":
			return o, fmt.Errorf("%w: could not %s", errUnfinished, value)
		case "mounted":
			o.Mounted = value == "yes"
			done = done || !o.Mounted
		case "started":
			o.Started = value == "yes"
			done = done || !o.Started
		case "verify": // the exit code; what it found is in a file
			if value != "0" && value != "1" {
				o.Bad = append(o.Bad, "ledger")
			}
		case "check":
			o.check(value)
		case "done":
			done = true
		}
	}
	if !done {
		return o, errUnfinished
	}
	return o, nil
}

func (o *outcome) check(text string) {
	name, found, _ := strings.Cut(text, " ")
	switch found {
	case "ok":
		o.Good = append(o.Good, name)
	case "skipped":
		o.Skipped = append(o.Skipped, name)
	default:
		o.Bad = append(o.Bad, name)
	}
}

// parseVerify adds what plumb load verify --json found.
func (o *outcome) parseVerify(data []byte) error {
	var v struct {
		Kind         string `json:"kind"`
		Acknowledged *int64 `json:"acknowledged"`
		Lost         *int64 `json:"lost"`
		Extra        *int64 `json:"extra"`
	}
	if len(data) > mostReport {
		return fmt.Errorf("a verdict of %d bytes", len(data))
	}
	if err := json.Unmarshal(data, &v); err != nil {
		return fmt.Errorf("read the verdict on the ledger: %w", err)
	}
	if v.Kind != "load-verify" || v.Acknowledged == nil || v.Lost == nil || v.Extra == nil {
		return errors.New("read the verdict on the ledger: it is none")
	}
	o.Acknowledged, o.Lost, o.Extra = *v.Acknowledged, *v.Lost, *v.Extra
	return nil
}

// found reads what a guest left in /out.
func found(dir string) (outcome, error) {
	data, err := os.ReadFile(filepath.Join(dir, "report"))
	if err != nil {
		return outcome{}, fmt.Errorf("%w: %w", errUnfinished, err)
	}
	o, err := parseReport(data)
	if err != nil {
		return o, err
	}
	o.Said = said(dir, o)
	if o.failedStart() {
		return o, nil
	}
	data, err = os.ReadFile(filepath.Join(dir, "verify.json"))
	if err != nil {
		return o, err
	}
	if len(data) == 0 { // it could not compare; the report has its exit code
		return o, nil
	}
	return o, o.parseVerify(data)
}

// said keeps the end of what a guest wrote down of all that went wrong.
func said(dir string, o outcome) map[string]string {
	var names []string
	if o.Mounted && !o.Started {
		names = append(names, "server.log")
	}
	for _, check := range o.Bad {
		if check == "ledger" {
			check = "verify"
		}
		names = append(names, check+".txt")
	}
	kept := map[string]string{}
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(dir, filepath.Base(name)))
		if err == nil {
			kept[name] = strings.ToValidUTF8(string(data[max(0, len(data)-mostSaid):]), "?")
		}
	}
	return kept
}
