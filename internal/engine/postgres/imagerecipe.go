package postgres

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"strings"

	"plumb/internal/catalog"
	"plumb/internal/change"
	"plumb/internal/host"
)

// imageRecipe sets a value in the configuration files of an unpacked image.
// Nothing runs there that could check it, so it goes by the catalogue.
func imageRecipe(ctx context.Context, h host.Reader, w change.Want) (change.Recipe, error) {
	main, err := imageConfig(ctx, h, w.Knob.Of.Name)
	if err != nil {
		return change.Recipe{}, err
	}
	name := strings.ToLower(w.Knob.Name)
	if data := imageData(ctx, h, main); data != "" {
		if auto, ok := persistedIn(ctx, h, data+autoFile, name); ok {
			return change.Recipe{}, &change.Refusal{Why: fmt.Sprintf("%s, which is read last, sets it to %s", auto.origin.File, auto.value), What: "ALTER SYSTEM RESET " + name + " on the running server"}
		}
	}
	to, err := wantedOf(w.Fact, imageRow(w.Fact, name), w.To)
	if err != nil {
		return change.Recipe{}, err
	}
	at, err := placeFor(ctx, h, "", main, name)
	if err != nil {
		return change.Recipe{}, err
	}
	notes := []string{"nothing runs here that could check the value"}
	if to.note != "" {
		notes = append(notes, to.note)
	}
	return change.Recipe{Effect: catalog.Restart, Waits: "a start of the server", Lasts: at.file, Notes: notes,
		Acts: []change.Act{at.edit(name, to.text)}}, nil
}

// imageRow stands in for what a server would say of a setting.
func imageRow(f *catalog.Fact, name string) knobRow {
	r := knobRow{unit: baseUnit(name), vartype: "string"}
	switch f.Type {
	case catalog.Bool:
		r.vartype = "bool"
	case catalog.Int, catalog.Bytes, catalog.Micros, catalog.Millis, catalog.Seconds:
		r.vartype = "integer"
	case catalog.Float, catalog.Ratio, catalog.Rate, catalog.Percent:
		r.vartype = "real"
	}
	if r.unit == "ms" && f.Type == catalog.Micros {
		r.vartype = "real"
	}
	return r
}

// imageConfig finds the configuration of the one cluster of an image, or of
// the one with the port that the knob names.
func imageConfig(ctx context.Context, h host.Reader, port string) (string, error) {
	var found []string
	for _, pattern := range []string{"/etc/postgresql/*/*/postgresql.conf", "/var/lib/pgsql/data/postgresql.conf", "/var/lib/pgsql/*/data/postgresql.conf"} {
		names, err := h.Glob(ctx, pattern)
		if err != nil {
			return "", &change.Refusal{Why: err.Error()}
		}
		found = append(found, names...)
	}
	if len(found) == 1 {
		return found[0], nil
	}
	var suits []string
	for _, main := range found {
		if cmp.Or(imageSetting(ctx, h, main, "port"), "5432") == port {
			suits = append(suits, main)
		}
	}
	switch {
	case len(suits) == 1:
		return suits[0], nil
	case len(found) == 0:
		return "", &change.Refusal{Why: "the image has no postgresql.conf in /etc/postgresql/*/* nor in /var/lib/pgsql", What: "create its cluster first (pg_createcluster, initdb)"}
	}
	return "", &change.Refusal{Why: fmt.Sprintf("the image has several clusters, and %d of them on port %s: %s", len(suits), port, strings.Join(found, ", ")), What: "name it by its port"}
}

func imageSetting(ctx context.Context, h host.Reader, main, name string) string {
	var f files
	if err := f.readConfig(ctx, h, "", main, nil); err != nil {
		return ""
	}
	return last(f.lines)[name].value
}

// imageData gives the data directory of a cluster: Debian's file names it, and
// elsewhere the file lies in it.
func imageData(ctx context.Context, h host.Reader, main string) string {
	if data := imageSetting(ctx, h, main, "data_directory"); data != "" {
		return Under(path.Dir(main), data)
	}
	if strings.HasPrefix(main, "/etc/") {
		return ""
	}
	return path.Dir(main)
}
