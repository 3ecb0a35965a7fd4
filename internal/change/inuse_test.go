package change

import (
	"errors"
	"strings"
	"testing"

	"plumb/internal/host"
	"plumb/internal/host/hosttest"
)

// A host can have more open than is listed at once: each process is asked for itself, so that who uses something is found.
func TestWhoUsesSomethingIsFoundAmongMany(t *testing.T) {
	h := hosttest.Map{
		Files:  map[string]string{"/proc/7/comm": "mariadbd\n"},
		Links:  map[string]string{"/proc/7/cwd": "/", "/proc/7/root": "/", "/proc/7/fd/3": "/srv/db/ibdata1", "/proc/9/cwd": "/srv/dbs"},
		Errors: map[string]error{"glob /proc/[0-9]*/fd/*": host.ErrTooLarge},
	}
	if err := unused(t.Context(), h, "/srv/db", true); err == nil || !strings.Contains(err.Error(), "is in use by process 7 mariadbd") {
		t.Errorf("it is used by one: %v", err)
	}
	if err := unused(t.Context(), h, "/srv/other", true); err != nil {
		t.Errorf("it is used by none: %v", err)
	}
	h.Errors["glob /proc/7/fd/*"] = host.ErrTooLarge
	if err := unused(t.Context(), h, "/srv/other", true); !errors.Is(err, host.ErrTooLarge) {
		t.Errorf("of one process not all is known: %v", err)
	}
	h.Files["/proc/7/status"] = "FDSize:\t4\n"
	if err := unused(t.Context(), h, "/srv/db", true); err == nil || !strings.Contains(err.Error(), "is in use by process 7 mariadbd") {
		t.Errorf("what one process has open is counted through: %v", err)
	}
}
