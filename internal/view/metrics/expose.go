package metrics

import (
	"io"
	"net/http"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/common/expfmt"
)

// mostScrapes is how many scrapes are answered at a time.
const mostScrapes = 8

// Handler answers scrapes. Compressing costs more than sending does on the
// machine itself.
func (e *Exporter) Handler(compress bool) http.Handler {
	return promhttp.HandlerFor(e, promhttp.HandlerOpts{DisableCompression: !compress, MaxRequestsInFlight: mostScrapes, ErrorHandling: promhttp.HTTPErrorOnError})
}

// Text writes what a scrape would give now.
func (e *Exporter) Text(w io.Writer) error { return text(w, e.collect()) }

func text(w io.Writer, all []*family) error {
	for _, f := range all {
		if _, err := expfmt.MetricFamilyToText(w, f.message()); err != nil {
			return err
		}
	}
	return nil
}
