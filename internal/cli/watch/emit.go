package watch

import (
	"fmt"

	"github.com/spf13/cobra"

	"plumb/internal/cli/shell"
	"plumb/internal/cli/watch/feed"
	"plumb/internal/hint"
	"plumb/internal/view/metrics"
	"plumb/knowledge"
)

// emitCommand makes the command plumb watch emit.
func emitCommand(s *shell.Shell) *cobra.Command {
	forms := []string{"alerts", "dashboard"}
	return &cobra.Command{
		Use:   "emit alerts|dashboard",
		Short: "print alert rules for Prometheus or vmalert, or a dashboard for Grafana",
		Long: `Emit prints what a monitoring system needs to use the metrics of plumb watch
metrics: alert rules in Prometheus format, which vmalert reads too, or a dashboard
for Grafana, made from everything that Plumb samples.

` + shell.ReadExits,
		Example: `  plumb watch emit alerts > /etc/prometheus/rules/plumb.yaml
  plumb watch emit dashboard > plumb.json`,
		Args:      shell.OneArg("form: alerts or dashboard"),
		ValidArgs: forms,
		RunE: func(_ *cobra.Command, args []string) error {
			text, err := emitted(s, args[0])
			if err != nil {
				return err
			}
			return s.Print(text)
		},
	}
}

func emitted(s *shell.Shell, form string) (string, error) {
	switch form {
	case "alerts":
		return metrics.Alerts(knowledge.FS)
	case "dashboard":
		text, err := metrics.Dashboard(feed.Windows(s))
		return string(text) + "\n", err
	}
	return "", hint.Usage(fmt.Sprintf("plumb watch emit: %q is not known", form), "use alerts or dashboard")
}
