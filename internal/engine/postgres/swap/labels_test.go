package swap

import (
	"context"
	"strings"
	"testing"

	"plumb/internal/change"
	"plumb/internal/host"
	"plumb/internal/provision"
)

// labeller labels by an act that says where.
type labeller struct{ provision.System }

func (labeller) Labels(_ context.Context, _ host.Reader, home provision.Home, volumes []provision.Volume) (acts []change.Act, err error) {
	for _, v := range volumes {
		acts = append(acts, change.Act{Switch: &change.Switch{On: home.Label + " " + v.At + v.Aside}})
	}
	return acts, nil
}

// A new data directory that somebody chose is labelled as the server's. Of that of the packages the policy of SELinux knows.
func TestLabels(t *testing.T) {
	for at, want := range map[string]string{"": "", "/srv/pg/17": "postgresql_db_t /srv/pg/17"} {
		acts, err := labels(t.Context(), nil, provision.Swap{Home: provision.Home{Label: "postgresql_db_t"}, At: at, System: labeller{}})
		var got []string
		for _, a := range acts {
			got = append(got, a.Switch.On)
		}
		if err != nil || strings.Join(got, "; ") != want {
			t.Errorf("at %q: %q, %v", at, got, err)
		}
	}
}
