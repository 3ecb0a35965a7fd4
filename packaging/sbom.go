package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"strings"
	"time"
)

// bom is what we say in CycloneDX 1.5.
type bom struct {
	Schema       string       `json:"$schema"`
	Format       string       `json:"bomFormat"`
	SpecVersion  string       `json:"specVersion"`
	Version      int          `json:"version"`
	Metadata     metadata     `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

type metadata struct {
	Timestamp string    `json:"timestamp"`
	Component component `json:"component"`
}

type component struct {
	Ref        string     `json:"bom-ref"`
	Type       string     `json:"type"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	Purl       string     `json:"purl"`
	Hashes     []digest   `json:"hashes,omitempty"`
	Properties []property `json:"properties,omitempty"`
}

type digest struct {
	Alg     string `json:"alg"`
	Content string `json:"content"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type dependency struct {
	Ref       string   `json:"ref"`
	DependsOn []string `json:"dependsOn"`
}

// sbom lists the modules that the binary itself says it was built from, and
// Go's standard library.
func sbom(info *debug.BuildInfo, program []byte, p Package) ([]byte, error) {
	main := module(info.Main.Path, info.Main.Version)
	main.Type = "application"
	main.Hashes = []digest{{"SHA-256", fmt.Sprintf("%x", sha256.Sum256(program))}}
	for _, s := range info.Settings {
		main.Properties = append(main.Properties, property{"go:build:" + s.Key, s.Value})
	}
	b := bom{Schema: "http://cyclonedx.org/schema/bom-1.5.schema.json", Format: "CycloneDX", SpecVersion: "1.5", Version: 1,
		Metadata: metadata{p.Time.Format(time.RFC3339), main}}
	b.Components = append(b.Components, module("stdlib", strings.TrimPrefix(info.GoVersion, "go")))
	for _, d := range info.Deps {
		if d.Replace != nil {
			d = d.Replace
		}
		c := module(d.Path, d.Version)
		c.Properties = []property{{"go:sum", d.Sum}}
		b.Components = append(b.Components, c)
	}
	needs := dependency{Ref: main.Ref}
	for _, c := range b.Components {
		needs.DependsOn = append(needs.DependsOn, c.Ref)
	}
	b.Dependencies = []dependency{needs}
	text, err := json.MarshalIndent(b, "", "  ")
	return append(text, '\n'), err
}

func module(path, version string) component {
	purl := "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B")
	return component{Ref: purl, Type: "library", Name: path, Version: version, Purl: purl}
}
