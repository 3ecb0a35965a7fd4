package replicate

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/protect"
	"plumb/internal/stack"
	"plumb/internal/zfs"
)

func TestParseTarget(t *testing.T) {
	for text, want := range map[string]Target{
		"tank2/copies":                        {Dataset: "tank2/copies"},
		"ssh://vault/tank/a":                  {Host: "vault", Dataset: "tank/a"},
		"ssh://backup@10.0.0.1:2222/tank/a/b": {User: "backup", Host: "10.0.0.1", Port: 2222, Dataset: "tank/a/b"},
		"ssh://root@[fe80::1]:22/tank/a":      {User: "root", Host: "fe80::1", Port: 22, Dataset: "tank/a"},
		"":                                    {}, "tank": {}, "/tank/a": {}, "tank/": {}, "tank/a b": {}, "tank/a;b": {}, "-r/a": {}, "tank/a@b": {}, "tank/../a": {},
		"ssh://vault": {}, "ssh://vault/tank": {}, "ssh://-oProxyCommand=x/tank/a": {}, "ssh://a:secret@vault/tank/a": {},
		"ssh://-x@vault/tank/a": {}, "ssh://vault:0/tank/a": {}, "ssh:tank/a": {}, "ssh://vault/tank/$(id)": {}, "ssh://vault/tank/a?x": {},
	} {
		got, err := ParseTarget(text)
		if got != want || (err != nil) != (want == Target{}) || err != nil && hint.AsUsage(err) == nil {
			t.Errorf("%q is %+v, %v", text, got, err)
		}
		if err == nil && got.String() != text {
			t.Errorf("%q is written %q", text, got)
		}
	}
}

func TestReach(t *testing.T) {
	got := Target{User: "u", Host: "h", Port: 22, Dataset: "t/a"}.reach([]string{"-i", "key"}, zfs.Properties("t/a"))
	want := []string{"-i", "key", "-p", "22", "-l", "u", "h", "zfs get -Hp -o name,property,value,source all t/a"}
	if !slices.Equal(got[len(got)-len(want):], want) {
		t.Errorf("%q", got)
	}
}

// answers is a machine whose commands give what was told.
type answers struct {
	host.Streamer
	here, there string // by SSH
}

func (a answers) Run(_ context.Context, argv ...string) ([]byte, error) {
	if argv[0] == "ssh" {
		return []byte(a.there), nil
	}
	if a.here == "" {
		return nil, errors.New("dataset does not exist")
	}
	return []byte(a.here), nil
}

// TestTargetInThePoolOfTheSource: what is lost with the source is no second copy.
func TestTargetInThePoolOfTheSource(t *testing.T) {
	holder := func(dataset, guid string) string {
		return dataset + "\t" + ourMark + "\t1\tlocal\n" + dataset + "\tguid\t" + guid + "\t-\n"
	}
	for target, c := range map[string]struct {
		here, there string
		want        string
	}{
		"tank/copies":                  {holder("tank/copies", "7"), "", "is in the pool tank"},
		"tank2/copies":                 {holder("tank2/copies", "7"), "", ""},
		"ssh://localhost/tank/copies":  {holder("tank/copies", "7"), holder("tank/copies", "7"), "is in the pool tank"},
		"ssh://localhost/tank2/copies": {holder("tank2/copies", "7"), holder("tank2/copies", "7"), ""},
		"ssh://vault/tank/copies":      {"", holder("tank/copies", "7"), ""},
		"ssh://other/tank/copies":      {holder("tank/copies", "8"), holder("tank/copies", "7"), ""},
	} {
		to, err := ParseTarget(target)
		must(t, err)
		s := &sending{d: answers{here: c.here, there: c.there}, p: example(), t: to}
		must(t, s.open(t.Context()))
		if got := s.doubt(t.Context()); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", target, got, c.want)
		}
	}
}

// TestHoldsOfOthersStay: what a target holds of another server is not given up when a point of this one came whole there.
func TestHoldsOfOthersStay(t *testing.T) {
	to := Target{Dataset: "tank2/copies"}
	point := func(id, server, identity string, holders ...string) (p protect.Point) {
		p.ID, p.Server.Ref, p.Server.Identity = id, stack.Ref{Kind: "mysql", Name: server}, identity
		for _, h := range holders {
			p.Holds = append(p.Holds, protect.Hold{Owner: h})
		}
		return p
	}
	for name, c := range map[string]struct {
		p           protect.Point
		lets, fuses bool
	}{
		"this one":            {point("2", "3306", "a", to.Owner()), true, false},
		"an older one":        {point("1", "3306", "a", to.Owner()), true, true},
		"under its old name":  {point("1", "/run/a.sock", "a", to.Owner()), true, true},
		"of another server":   {point("1", "3307", "b", to.Owner()), false, false},
		"of one without name": {point("1", "3307", "", to.Owner()), false, false},
		"for another target":  {point("1", "3306", "a", "replicate tank3/copies", "audit"), false, false},
	} {
		for fuse, want := range map[bool]bool{false: c.lets, true: c.fuses} {
			s := &sending{Replicator: Replicator{Fuse: fuse}, p: point("2", "3306", "a"), t: to}
			if got := s.lets(c.p); got != want {
				t.Errorf("%s, zfs-fuse %v: given up %v", name, fuse, got)
			}
		}
	}
}

// What a Replicator types for a dataset below the one of the key is let through, and nothing else.
func TestAllowed(t *testing.T) {
	const only = "tank/copies"
	for _, words := range [][]string{
		zfs.Properties(only), zfs.Properties(only + "/tank:db"), identities(only + "/a"), holder(only), holder(only + "/host1"),
		setChain(only, "15903956383140518150", wayRaw), setLast(only, "20261123T210500Z-4f3a"), receive(true, only+"/a"), receive(false, only+"/a"), abort(only + "/a"), verify(only, "20261123T210500Z-4f3a"),
	} {
		if got := allowed(only, strings.Join(words, " ")); !slices.Equal(got, words) {
			t.Errorf("%q gave %q", words, got)
		}
	}
	for _, line := range []string{
		"", "zfs", "sh", "zfs destroy tank/copies/a", "zfs receive -F tank/copies/a", "zfs receive tank/copies", "zfs receive tank/other/a", "zfs receive tank/copiesx/a",
		"zfs receive tank/copies/../db", "zfs receive tank/copies/a@b", "zfs receive  tank/copies/a", "zfs receive tank/copies/a ", "zfs receive tank/copies/a;id",
		"zfs receive tank/copies/a\nid", "zfs receive tank/copies/$(id)", "zfs receive -A tank/copies", "zfs set mountpoint=/ tank/copies/a", "zfs set org.plumb:replica=1 tank/copies",
		"zfs set org.plumb:chain-1=other tank/copies", "zfs set org.plumb:last=x tank/copies", "zfs set org.plumb:last=20261123T210500Z-4f3a tank", "zfs create tank/copies/a",
		"zfs get -Hp -o name,property,value,source all tank", "zfs version", "zfs version; id", "plumb prove 20261123T210500Z-4f3a tank", "plumb prove 20261123T210500Z-4f3a tank/copies/a", "plumb prove x tank/copies", "plumb prove 20261123T210500Z-4f3a --state tank/copies", "plumb drill 20261123T210500Z-4f3a tank/copies", "plumb prove tank/copies", "zfs version\n", "/tmp/zfs version", "ZFS version",
	} {
		if got := allowed(only, line); got != nil {
			t.Errorf("%q is let through as %q", line, got)
		}
	}
	if allowed("tank", "zfs receive tank/a") != nil || allowed("", "zfs receive tank/a") != nil {
		t.Error("a whole pool is given away")
	}
}

var harmless = regexp.MustCompile(`^[A-Za-z0-9_.:/=,-]+$`)

func FuzzAllowed(f *testing.F) {
	f.Add("tank/copies", "zfs receive -s -u -x mountpoint -o canmount=noauto -o readonly=on tank/copies/a")
	f.Add("tank/copies", "zfs set org.plumb:chain-1=raw tank/copies")
	f.Add("tank/copies", "plumb prove 20261123T210500Z-4f3a tank/copies")
	f.Add("tank/copies", "zfs get -Hp -d 1 -o name,property,value guid,createtxg tank/copies/tank:db")
	f.Fuzz(func(t *testing.T, only, line string) {
		words := allowed(only, line)
		if words == nil {
			return
		}
		last := words[len(words)-1]
		known := words[0] == "zfs" && slices.Contains([]string{"get", "create", "set", "receive"}, words[1]) || words[0] == "plumb" && words[1] == "prove" && last == only
		if strings.Join(words, " ") != line || !known ||
			last != only && !strings.HasPrefix(last, only+"/") || slices.Contains(words, "-F") || strings.Contains(last, "..") {
			t.Errorf("%q lets %q through", only, line)
		}
		for _, w := range words {
			if !harmless.MatchString(w) {
				t.Errorf("%q holds %q", line, w)
			}
		}
	})
}

func FuzzParseTarget(f *testing.F) {
	f.Add("ssh://backup@10.0.0.1:2222/tank/a/b")
	f.Add("tank2/copies")
	f.Fuzz(func(t *testing.T, text string) {
		target, err := ParseTarget(text)
		if err != nil {
			return
		}
		if again, err := ParseTarget(target.String()); err != nil || again != target {
			t.Errorf("%q is %+v, written %q, and then %+v, %v", text, target, target, again, err)
		}
		if strings.HasPrefix(target.Host, "-") || strings.HasPrefix(target.User, "-") || !harmless.MatchString(target.Dataset) {
			t.Errorf("%q is %+v", text, target)
		}
	})
}

// Nothing that the target has is rolled back.
func TestBase(t *testing.T) {
	source := dataset{there: true, moments: []moment{{"t/a@1", "11", 5}, {"t/a@2", "12", 6}, {"t/a#1", "11", 5}, {"t/a#0", "10", 4}, {"t/a@3", "13", 7}}}
	for _, c := range []struct {
		replica dataset
		base    string
		err     string
	}{
		{dataset{}, "", ""},
		{dataset{there: true, moments: []moment{{"r/a@1", "11", 99}}}, "t/a@1", ""},
		{dataset{there: true, moments: []moment{{"r/a@0", "10", 98}}}, "t/a#0", ""},
		{dataset{there: true, moments: []moment{{"r/a@1", "11", 98}, {"r/a@x", "77", 99}}}, "", "does not exist here: it was taken there"},
		{dataset{there: true, moments: []moment{{"r/a@8", "88", 97}, {"r/a@9", "99", 98}}}, "", "does not exist here, and neither does any other"},
		{dataset{there: true, moments: []moment{{"r/a@3", "13", 99}}}, "", "newer point"},
		{dataset{there: true}, "", "without any snapshot"},
		{dataset{there: true, values: map[string]string{"written": "4096"}, moments: []moment{{"r/a@1", "11", 99}}}, "", "written to"},
		{dataset{there: true, values: map[string]string{"written": "0"}, moments: []moment{{"r/a@1", "11", 99}}}, "t/a@1", ""},
	} {
		m := memberOf("t/a@2", "12")
		base, err := baseOf(source, c.replica, m)
		if base != c.base || (err != nil) != (c.err != "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%+v: %q, %v", c.replica, base, err)
		}
	}
}
