package real

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plumb/internal/rule"
	"plumb/test/sandbox"
)

// mongoOn starts a mongod in a directory.
func mongoOn(t *testing.T, b *sandbox.Box, o sandbox.MongoOptions) *sandbox.Server {
	t.Helper()
	o.Port = freePort(t)
	s, err := b.Mongo(o)
	check(t, err)
	return s
}

// before skips for a mongod that is too new to be told something.
func before(t *testing.T, s *sandbox.Server, major, minor int, what string) {
	t.Helper()
	answer, err := s.Ask(t.Context(), "admin", `{"buildInfo": 1}`)
	check(t, err)
	var a, b int
	fmt.Sscanf(fmt.Sprint(answer["version"]), "%d.%d", &a, &b)
	if a > major || a == major && b >= minor {
		t.Skipf("MongoDB %v has no %s", answer["version"], what)
	}
}

func onMongo() []pair {
	return []pair{
		{name: "mongo_journal_off", rule: "mongo/journal-off",
			start: func(t *testing.T, b *sandbox.Box, sick bool) *sandbox.Server {
				before(t, mongoOn(t, b, sandbox.MongoOptions{Name: "first"}), 6, 1, "storage.journal.enabled")
				return mongoOn(t, b, sandbox.MongoOptions{Storage: "  journal:\n    enabled: " + choose(sick, "false", "true") + "\n"})
			}},
		{name: "mongo_open_to_all", rule: "mongo/no-authorization",
			start: func(t *testing.T, b *sandbox.Box, sick bool) *sandbox.Server {
				s, err := b.Mongo(sandbox.MongoOptions{Port: freePort(t), Args: []string{"--bind_ip", choose(sick, "127.0.0.1,127.0.0.2", "localhost")}})
				check(t, err)
				return s
			}},
		{name: "mongo_data_on_ext4", rule: "cross/storage-mongo-ext4",
			start: func(t *testing.T, b *sandbox.Box, sick bool) *sandbox.Server {
				return mongoOn(t, b, sandbox.MongoOptions{Datadir: volume(t, b, choose(sick, "ext4", "xfs"))})
			}},
		{name: "mongo_majority_not_journaled", rule: "mongo/majority-journal-default",
			start: func(t *testing.T, b *sandbox.Box, sick bool) *sandbox.Server {
				s := mongoOn(t, b, sandbox.MongoOptions{Set: "rs0"})
				if sick {
					_, err := s.Ask(t.Context(), "admin", fmt.Sprintf(`{"replSetReconfig": {"_id": "rs0", "version": 1000, "protocolVersion": 1, "writeConcernMajorityJournalDefault": false, "members": [{"_id": 0, "host": "127.0.0.1:%d"}]}}`, s.Port))
					check(t, err)
				}
				return s
			}},
	}
}
