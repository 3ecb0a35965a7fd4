package series

import (
	"time"

	"plumb/internal/stack"
)

// Index is an index that can be done without: nothing reads it, or another
// index does all that it does.
type Index struct {
	Of       stack.Ref `json:"of"` // the server
	Database string    `json:"database"`
	Table    string    `json:"table"` // with its schema, where databases have those
	Name     string    `json:"name"`
	Since    time.Time `json:"since,omitzero"`       // nothing has read it since then; zero: it is read, or that is not known
	Unread   bool      `json:"unread"`               // nothing has read it since the server counts
	DoneBy   string    `json:"covered_by,omitempty"` // the index that does its work too
}
