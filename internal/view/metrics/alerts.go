package metrics

import (
	"io/fs"
)

// AlertsFile is where the alert rules are, below knowledge, in the form that
// Prometheus and vmalert read.
const AlertsFile = "metrics/alerts.yaml"

// Alerts gives the alert rules.
func Alerts(fsys fs.FS) (string, error) {
	text, err := fs.ReadFile(fsys, AlertsFile)
	return string(text), err
}
