package cli

import (
	"errors"
	"testing"

	"plumb/internal/advise"
	"plumb/internal/rule"
)

func TestFailOn(t *testing.T) {
	found := []advise.Finding{{Rule: &rule.Rule{Harm: rule.Slow}}}
	for _, c := range []struct {
		failOn string
		fs     []advise.Finding
		want   error
	}{
		{"", found, nil},
		{"danger", found, nil},
		{"outage", found, nil},
		{"slow", found, errFound},
		{"note", found, errFound},
		{"note", nil, nil},
	} {
		t.Run("on_"+c.failOn, func(t *testing.T) {
			if err := (checkFlags{failOn: c.failOn}).verdict(c.fs); !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
}

func TestEngineOf(t *testing.T) {
	for _, c := range []struct{ dsn, engine, forDriver string }{
		{"mysql://u:p@db:3307/", "mysql", "u:p@tcp(db:3307)/"},
		{"mariadb://u@[::1]/x", "mysql", "u@tcp([::1]:3306)/x"},
		{"u:p@tcp(db:3306)/", "mysql", "u:p@tcp(db:3306)/"},
		{"postgresql://u@db/x", "postgres", "postgresql://u@db/x"},
		{"mongodb://db", "mongo", "mongodb://db"},
	} {
		t.Run(c.engine, func(t *testing.T) {
			engine, forDriver, err := engineOf(c.dsn)
			if err != nil || engine != c.engine || forDriver != c.forDriver {
				t.Errorf("%s: got %s %s %v", c.dsn, engine, forDriver, err)
			}
		})
	}
}
