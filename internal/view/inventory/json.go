package inventory

import (
	"strings"
	"time"

	"plumb/internal/inventory"
	"plumb/internal/inventory/kinds"
)

// InventoryJSON is version 1 of what inventory --json prints.
type InventoryJSON struct {
	Plumb     int         `json:"plumb"`
	Kind      string      `json:"kind"`      // "inventory"
	Directory string      `json:"directory"` // of the books
	Things    []ThingJSON `json:"things"`
	Unread    []string    `json:"unread,omitempty"` // books that cannot be read or are not believed, and why: what is in them is not listed
}

// ThingJSON is one thing that Plumb made or adopted.
type ThingJSON struct {
	Kind    string     `json:"kind"` // dataset, file, group, limit, loop, mount, pool, process, sysctl, tree, or a later Plumb's
	Name    string     `json:"name"`
	ID      string     `json:"id,omitempty"` // what tells it from another of its name: the guid of a dataset or pool, device and inode of a file or tree, and its time of birth where that is told
	State   string     `json:"state"`        // "lives": until somebody removes it; "left": by a run that ended without taking it away; "in use": by a run
	Run     string     `json:"run"`          // that made it, or its adoption
	Running bool       `json:"running"`      // the run is not over: the thing can be neither removed nor forgotten now
	Owner   string     `json:"owner,omitempty"`
	Purpose string     `json:"purpose,omitempty"`
	Since   *time.Time `json:"since,omitempty"` // of what lives
	Book    string     `json:"book"`            // the file that names it
}

// Document makes the document of an inventory.
func Document(directory string, left []inventory.Left, unread error) InventoryJSON {
	doc := InventoryJSON{Plumb: 1, Kind: "inventory", Directory: directory, Things: []ThingJSON{}}
	for _, l := range left {
		for _, e := range l.Living {
			doc.Things = append(doc.Things, thingJSON(l, e.Thing, "lives"))
		}
		state := "left"
		if l.Live {
			state = "in use"
		}
		for _, t := range l.Things {
			doc.Things = append(doc.Things, thingJSON(l, t, state))
		}
	}
	if unread != nil {
		doc.Unread = strings.Split(unread.Error(), "\n")
	}
	return doc
}

func thingJSON(l inventory.Left, t inventory.Thing, state string) ThingJSON {
	j := ThingJSON{Kind: t.Kind, Name: t.Name, ID: t.Proof[kinds.Proof(t.Kind)], State: state, Run: l.Run, Running: l.Live, Book: l.Book}
	if t.Life != nil && state == "lives" {
		j.Owner, j.Purpose, j.Since = t.Life.Owner, t.Life.Purpose, &t.Life.Since
	}
	return j
}
