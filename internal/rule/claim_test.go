package rule_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"plumb/internal/rule"
)

func TestClaimHas(t *testing.T) {
	for written, versions := range map[string]map[string]bool{
		"any":                    {"1.0": true, "": true, "none": true},
		`"2.0-2.3.8, 2.4.0-2.4"`: {"2.3.8": true, "2.3.9": false, "2.4.7": true, "2.5": false, "": false, "none": false},
		`"-5.7"`:                 {"5.7.44": true, "8.0": false},
	} {
		r := loadOne(t, ruleText("db in server", "db.sync", "range: {mysql: "+written+"}")).Rule("x/r")
		if len(r.Range) != 1 || r.Range[0].Product != "mysql" || r.Range[0].Text != strings.Trim(written, `"`) {
			t.Fatalf("%s was read as %v", written, r.Range)
		}
		for version, want := range versions {
			if got := r.Range[0].Has(version); got != want {
				t.Errorf("%s has %q: %v", written, version, got)
			}
		}
	}
}

// TestClaimsOfWhatIsBound asks for the claims of rules that say none.
func TestClaimsOfWhatIsBound(t *testing.T) {
	all := func(products ...string) (out []rule.Claim) {
		for _, p := range products {
			out = append(out, rule.Claim{Product: p, Text: "any"})
		}
		return out
	}
	openzfs := rule.Claim{Product: "openzfs", Text: "2.3-"}
	for _, c := range []struct {
		r    rule.Rule
		want []rule.Claim
	}{
		{rule.Rule{}, nil},
		{rule.Rule{For: []rule.Binding{{Kind: "process"}}}, nil},
		{rule.Rule{For: []rule.Binding{{Kind: "mysql"}, {Kind: "dataset"}, {Kind: "pool"}}}, all("mariadb", "mysql", "percona", "openzfs", "zfs-fuse")},
		{rule.Rule{For: []rule.Binding{{Kind: "postgres"}, {Kind: "dataset"}}, Range: []rule.Claim{openzfs}}, append([]rule.Claim{openzfs}, all("postgres")...)},
		{rule.Rule{For: []rule.Binding{{Kind: "mysql"}}, Range: all("mariadb")}, all("mariadb")},
	} {
		got := c.r.Claims()
		if !slices.EqualFunc(got, c.want, func(a, b rule.Claim) bool { return a.Product == b.Product && a.Text == b.Text }) {
			t.Errorf("%v and %v: got %v, want %v", c.r.For, c.r.Range, got, c.want)
		}
	}
}

func TestRangesReportMistakes(t *testing.T) {
	for written, want := range map[string]string{
		"{mysq: any}":              "there is no product mysq; did you mean mysql?",
		"{mysql: new}":             `"new" is not a range of versions`,
		`{mysql: "8.0-, 9"}`:       "",
		`{mysql: "8.0-,"}`:         "is not a range of versions",
		`{mysql: ""}`:              "a range of versions is written",
		"{mysql: [any]}":           "is a text",
		`"8.0-"`:                   "range is written as key: value",
		`{linux: "6.1", mysql: 8}`: "",
	} {
		got := mistakes(t, sound+"range: "+written+"\n")
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q", written, got, want)
		}
	}
}

// number matches a version in a sentence, not the number in ext4 or x86.
var number = regexp.MustCompile(`(^|[^\w.])\d`)

// TestRangesAreWritten asks of every built-in rule whose words name a version
// for the same as a range: plumb rules --untested goes by that.
func TestRangesAreWritten(t *testing.T) {
	for _, r := range embedded(t).Rules() {
		if number.MatchString(r.Versions) && len(r.Range) == 0 {
			t.Errorf("%s: versions names a number (%s), and there is no range", r.ID, r.Versions)
		}
		names := fmt.Sprint(r.Claims())
		if strings.Contains(r.Versions, "OpenZFS") && !strings.Contains(names, "openzfs") {
			t.Errorf("%s: versions names OpenZFS (%s), and range does not", r.ID, r.Versions)
		}
		if strings.Contains(r.Versions, "MariaDB") && !strings.Contains(names, "mariadb") {
			t.Errorf("%s: versions names MariaDB (%s), and range does not", r.ID, r.Versions)
		}
	}
}
