package cli

import (
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"plumb/internal/cli/shell"
)

// oneName says what flags of one meaning are called, by how their help begins.
var oneName = map[string][]string{
	`^(end|stop|give up) (with|aft)(in|er) this time`: {"max-time", "timeout"}, // timeout: of what others answer, such as a server
	`^maximum size of the recording|^export at most`:  {"max-size", "max-series"},
	`^end after this many`:                            {"max-captures"},
	`^how often to|^look .* this often`:               {"interval"},
	`^(un)?do everything that .* did`:                 {"undo"},
	`^unpack .* into|^make .* (below|in) .DIR`:        {"dir"},
	`^do not ask`:                          {"yes"},
	`^print JSON`:                          {"json"},
	`^write .*to .FILE.|^write one stream`: {"output", "html", "plan", "token-file"},
}

// TestFlagsOfOneMeaningHaveOneName: what --max-time is to one verb is not --limit, --within or --budget to others.
func TestFlagsOfOneMeaningHaveOneName(t *testing.T) {
	met := map[string]int{}
	for _, c := range everyCommand((&app{Shell: shell.New(strings.NewReader(""), io.Discard, io.Discard)}).root()) {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			for begins, names := range oneName {
				if !regexp.MustCompile(begins).MatchString(f.Usage) {
					continue
				}
				if met[begins]++; !slices.Contains(names, f.Name) {
					t.Errorf("%s --%s (%s): flags that mean this are called %q", c.CommandPath(), f.Name, f.Usage, names)
				}
			}
		})
	}
	for begins := range oneName {
		if met[begins] == 0 {
			t.Errorf("no help of a flag is like %q", begins)
		}
	}
}

// TestEmittedUnitsCanRun: the command line in a unit has the flags that its command takes today.
func TestEmittedUnitsCanRun(t *testing.T) {
	word := regexp.MustCompile(`"([^"]*)"|(\S+)`)
	for _, line := range []string{
		"archive run --to file:///srv/store --recipient age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwj --binlog-index /var/lib/mysql/binlog.index --interval 7s --timeout 20s --emit systemd",
		"watch record --emit systemd",
	} {
		r := run(nil, strings.Fields(line)...)
		m := regexp.MustCompile(`(?m)^ExecStart=(.*)$`).FindStringSubmatch(r.out)
		if r.code != 0 || m == nil {
			t.Fatalf("plumb %s: code %d, %s%s", line, r.code, r.out, r.err)
		}
		var argv []string
		for _, w := range word.FindAllStringSubmatch(m[1], -1)[1:] { // after the program
			argv = append(argv, w[1]+w[2])
		}
		c, rest, err := (&app{Shell: shell.New(strings.NewReader(""), io.Discard, io.Discard)}).root().Find(argv)
		if err == nil {
			err = c.ParseFlags(rest)
		}
		if err != nil {
			t.Errorf("plumb %s: the unit starts %s: %v", line, m[1], err)
		}
		for _, kept := range []string{"--interval 7s", "--timeout 20s"} {
			if strings.Contains(line, kept) && !strings.Contains(strings.Join(argv, " "), kept) {
				t.Errorf("plumb %s: the unit lacks %s: %s", line, kept, m[1])
			}
		}
	}
}
