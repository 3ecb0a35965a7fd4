package load

import (
	"fmt"

	"plumb/internal/host/scratch"
	"plumb/internal/load/files"
	"plumb/internal/units"
	"plumb/internal/view/page"
)

// Fsync shows what durable writes cost in a directory, and what speaks for or
// against believing it.
func Fsync(r *files.FsyncResult, screen page.Screen) string {
	p := page.NewPage(screen)
	p.Para(page.Bold, 0, "durable writes in "+r.Dir+" · "+PlaceText(r.Place))
	p.Blank()
	head := p.Width - 11 - 4*latWidth - 9
	p.Line(page.Dim, page.Columns("", head)+page.Right("per second", 11)+page.Right("p50", latWidth)+page.Right("p95", latWidth)+page.Right("p99", latWidth)+page.Right("max", latWidth)+page.Right("flushes", 9))
	for _, row := range r.Rows {
		if row.Err != nil {
			p.Hang(page.Normal, page.Columns(row.Row.Name, head), row.Err.Error())
			continue
		}
		s := row.Summary
		flushes := "–"
		if row.Flushes != nil {
			flushes = units.Digits3(*row.Flushes)
		}
		name := row.Row.Name
		if page.Width(name) >= head {
			p.Para(page.Normal, 0, name)
			name = ""
		}
		p.Line(page.Normal, page.Columns(name, head)+page.Right(units.PerSecond(row.Rate), 11)+page.Right(units.LatencyOf(s.P50, s.N), latWidth)+page.Right(units.LatencyOf(s.P95, s.N), latWidth)+
			page.Right(units.LatencyOf(s.P99, s.N), latWidth)+page.Right(units.LatencyOf(s.Max, s.N), latWidth)+page.Right(flushes, 9))
		if row.Row.PageWriters > 0 {
			p.Para(page.Dim, 2, fmt.Sprintf("the page writers meanwhile: %s writes of 16 KiB a second, p99 %s", units.PerSecond(row.Pages), units.LatencyOf(row.Page.P99, row.Page.N)))
		}
	}
	p.Para(page.Dim, 0, "Times are of a write and its sync together. Flushes: of the disk's cache, for each durable write.")
	hints(p, r.Hints)
	return p.String()
}

func hints(p *page.Page, hints []files.Hint) {
	if len(hints) == 0 {
		return
	}
	p.Blank()
	p.Para(page.Bold, 0, "Can it be trusted? This is evidence; only a power cut would be proof")
	for _, h := range hints {
		i := page.Normal
		if h.Doubt {
			i = page.Yellow
		}
		p.Labelled(i, "  · ", page.Normal, h.Text)
	}
}

// PlaceText says on what a directory lies.
func PlaceText(w scratch.Place) string {
	text := w.Type
	for i, d := range w.Disks {
		if i == 0 {
			text += " on "
		} else {
			text += ", "
		}
		text += d.Name
		if d.Model != "" {
			text += " (" + d.Model + ")"
		} else if d.Virtual {
			text += " (virtual disk)"
		}
	}
	return text
}

// FsyncJSON is the document of plumb load fsync --json.
type FsyncJSON struct {
	Plumb      int             `json:"plumb"` // JSONVersion
	Kind       string          `json:"kind"`  // "load-fsync"
	Version    string          `json:"version"`
	Directory  string          `json:"directory"`
	Filesystem string          `json:"filesystem"`
	Disks      []string        `json:"disks"`
	Rows       []FsyncRowJSON  `json:"rows"`
	Hints      []FsyncHintJSON `json:"hints"`
}

// FsyncRowJSON is one way to write durably.
type FsyncRowJSON struct {
	Name        string        `json:"name"`
	By          string        `json:"by"`
	Append      bool          `json:"append"`
	Threads     int           `json:"threads"`
	SharedFile  bool          `json:"shared_file"`
	WriteBytes  int64         `json:"write_bytes"`
	PageWriters int           `json:"page_writers"`
	Error       string        `json:"error,omitempty"` // why it could not be measured
	Rate        float64       `json:"rate"`            // durable writes a second
	Response    LoadTimesJSON `json:"response"`        // of a write and its sync together
	PageRate    float64       `json:"page_rate"`       // 16 KiB writes a second of the page writers
	Page        LoadTimesJSON `json:"page"`
	Flushes     *float64      `json:"flushes,omitempty"` // of the disks for each durable write
	Written     *float64      `json:"written,omitempty"` // bytes that the disks wrote for each byte asked
}

// FsyncHintJSON is evidence for or against believing an fsync.
type FsyncHintJSON struct {
	Kind  string `json:"kind"`
	Text  string `json:"text"`
	Doubt bool   `json:"doubt"` // it speaks against
}

// FsyncDocument is the same as JSON v1.
func FsyncDocument(r *files.FsyncResult, version string) FsyncJSON {
	d := FsyncJSON{Plumb: page.JSONVersion, Kind: "load-fsync", Version: version, Directory: r.Dir, Filesystem: r.Place.Type,
		Disks: []string{}, Rows: []FsyncRowJSON{}, Hints: []FsyncHintJSON{}}
	for _, disk := range r.Place.Disks {
		d.Disks = append(d.Disks, disk.Name)
	}
	for _, m := range r.Rows {
		j := FsyncRowJSON{Name: m.Row.Name, By: m.Row.By, Append: m.Row.Append, Threads: m.Row.Threads, SharedFile: m.Row.Shared,
			WriteBytes: m.Row.WriteBytes, PageWriters: m.Row.PageWriters, Rate: m.Rate, Response: timesJSON(m.Summary),
			PageRate: m.Pages, Page: timesJSON(m.Page), Flushes: m.Flushes, Written: m.Written}
		if m.Err != nil {
			j.Error = m.Err.Error()
		}
		d.Rows = append(d.Rows, j)
	}
	for _, h := range r.Hints {
		d.Hints = append(d.Hints, FsyncHintJSON(h))
	}
	return d
}
