package page

import (
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"strings"
)

//go:embed html/*
var shared embed.FS

// Web says of which files a verb's page for a browser is made. All pages need
// nothing else: no network, no script. They are read on a screen or a
// telephone, light or dark, and printed.
type Web struct {
	Files  fs.FS // below html: templates (*.html) and styles
	Styles []string
	Name   string // of the template that is the page; it begins with the shared one "head"
	Funcs  template.FuncMap
}

// HTML makes the page. Whatever is not a type of html/template is escaped, and
// what could reorder text is taken out.
func (w Web) HTML(data any) ([]byte, error) {
	style, err := w.style()
	if err != nil {
		return nil, fmt.Errorf("read the page's style: %w", err)
	}
	t := template.New(w.Name).Funcs(template.FuncMap{
		"tie":   tie,
		"long":  func(name string) bool { return Width(name) > 24 },
		"style": func() template.CSS { return style },
	}).Funcs(w.Funcs)
	if t, err = t.ParseFS(shared, "html/*.html"); err == nil {
		t, err = t.ParseFS(w.Files, "html/*.html")
	}
	if err != nil {
		return nil, fmt.Errorf("read the page's template: %w", err)
	}
	var out strings.Builder
	err = t.Execute(&out, data)
	return []byte(Clean(out.String())), err
}

// style is that of all pages, and behind it that of this one.
func (w Web) style() (template.CSS, error) {
	all, err := shared.ReadFile("html/style.css")
	for _, name := range w.Styles {
		if err != nil {
			break
		}
		var own []byte
		own, err = fs.ReadFile(w.Files, "html/"+name)
		all = append(all, own...)
	}
	return template.CSS(all), err // ours, as embedded
}
