package accounts

import (
	"context"
	"errors"
	"strings"
	"testing"

	"plumb/internal/change"
	"plumb/internal/host"
	"plumb/internal/product"
	"plumb/internal/provision/spec"
)

// told is a server that answers questions by a word in them, and has nothing to say to others.
type told struct {
	host.Reader
	answers map[string]string
}

func (s told) Query(_ context.Context, _ host.Target, query string) (rows host.Rows, err error) {
	for word, answer := range s.answers {
		if strings.Contains(query, word) {
			rows.Values = append(rows.Values, []*string{&answer})
		}
	}
	return rows, nil
}

// A server that says nothing is an error in words, and no account is closed by guess.
func TestAnAnswerWithoutARow(t *testing.T) {
	err := look{ctx: t.Context(), h: told{}}.ownLogin([]account{{user: "open", host: "%"}})
	if err == nil || strings.Contains(err.Error(), "%!") || !strings.Contains(err.Error(), "0 answers") {
		t.Errorf("it is %v", err)
	}
}

// The plugin that asks the kernel is wanted only where an account is made that needs it.
func TestOnlyNewOwnersNeedThePlugin(t *testing.T) {
	want := []spec.Database{{Name: "shop", Owner: "games"}}
	there := map[string]string{"SCHEMATA": "there", "mysql.user": "there", "mysql.db": "all"}
	if acts, err := Databases(t.Context(), told{answers: there}, host.Target{}, product.MariaDB, want); err != nil || len(acts) != 0 {
		t.Errorf("all is there, and it gives %d acts: %v", len(acts), err)
	}
	delete(there, "SCHEMATA")
	if acts, err := Databases(t.Context(), told{answers: there}, host.Target{}, product.MariaDB, want); err != nil || len(acts) != 1 {
		t.Errorf("its owner is there, and making the database is %d acts: %v", len(acts), err)
	}
	delete(there, "mysql.user")
	_, err := Databases(t.Context(), told{answers: there}, host.Target{}, product.MariaDB, want)
	if _, refused := errors.AsType[*change.Refusal](err); !refused || !strings.Contains(err.Error(), "unix_socket") {
		t.Errorf("an account is to be made that nobody vouches for: %v", err)
	}
}
