package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"plumb/internal/protect"
	"plumb/internal/stack"
)

// hostilePoint are command lines about a point of which every text is hostile, and whose storage is not there.
func hostilePoint(t *testing.T) [][]string {
	t.Helper()
	const id = "20261123T210500Z-4f3a"
	at := time.Date(2026, 11, 23, 21, 5, 0, 0, time.UTC)
	volume := protect.Volume{Storage: hostileName, Name: hostileName, Pool: hostileName, Mountpoint: "/" + hostileName}
	text, err := json.Marshal(protect.Point{Form: protect.Form, ID: id, State: protect.Taken, Host: hostileName, Label: protect.Label(hostileName), Mode: hostileName,
		Server: protect.Server{Ref: stack.Ref{Kind: "mysql", Name: hostileName}, Product: hostileName, Identity: hostileName}, Doubts: []string{hostileName}, Holds: []protect.Hold{{Owner: hostileName, Since: at}},
		Members: []protect.Member{{Volume: volume, Snapshot: hostileName, GUID: hostileName}}, Times: protect.Times{Began: at, Snapshot: at, Ended: at}})
	must(t, err)
	state := t.TempDir()
	must(t, os.Mkdir(filepath.Join(state, "points"), 0o700))
	must(t, os.WriteFile(filepath.Join(state, "points", id+".json"), text, 0o600))
	return [][]string{
		{"protect", "list", "--state", state},
		{"prune", id, "--forget", "--yes", "--state", state}, // it is held
		{"protect", "hold", id, "--as", hostileName, "--release", "--state", state},
		{"prune", id, "--dry-run", "--state", state},
		{"prune", id, "--forget", "--dry-run", "--state", state},
		{"prune", id, "--forget", "--dry-run", "--json", "--state", state},
		{"clone", id, "--mask", "@" + hostileName, "--state", state},
		{"prune", id, "--forget", "--yes", "--state", state},
	}
}
