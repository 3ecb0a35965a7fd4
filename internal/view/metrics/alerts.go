package metrics

import (
	"io/fs"
)

// alertsFile is where the alert rules are, below knowledge, in the form that
// Prometheus and vmalert read.
const alertsFile = "metrics/alerts.yaml"

// Alerts gives the alert rules.
func Alerts(fsys fs.FS) (string, error) {
	text, err := fs.ReadFile(fsys, alertsFile)
	return string(text), err
}
