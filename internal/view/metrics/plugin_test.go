package metrics

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"plumb/internal/watch"
)

var pluginLine = regexp.MustCompile(`^PLUMB (OK|WARNING|CRITICAL|UNKNOWN) - [^|\n]+( \|( '[^'=|\n]+'=(U|-?[0-9.]+(%|s)?);[0-9.]*;[0-9.]*)+)?\n$`)

func TestPlugin(t *testing.T) {
	usual := Limits{Critical: .5, Late: time.Minute}
	raise := func(low float64, m *watch.Moment) {
		m.Verdicts[0].Share = &watch.Interval{Value: low + .1, Low: low, High: low + .2}
	}
	for name, c := range map[string]struct {
		limits Limits
		change func(*watch.Moment)
		late   time.Duration
		want   State
		says   string
	}{
		"a limit":                {usual, func(m *watch.Moment) { raise(.3, m) }, 0, Warning, "mysql:3306 is held back by lock/blocked, for 30% of its time or more"},
		"a costly limit":         {usual, func(m *watch.Moment) { raise(.6, m) }, 0, Critical, "for 60%"},
		"no share":               {usual, func(m *watch.Moment) { m.Verdicts[0].Share = nil }, 0, Warning, "is held back by lock/blocked"},
		"no share, as data":      {usual, func(m *watch.Moment) { m.Verdicts[0].Share = nil }, 0, Warning, "| 'lock/blocked@mysql:3306'=U;;50 "},
		"no server":              {usual, func(m *watch.Moment) { m.Servers, m.Verdicts = nil, nil }, 0, Unknown, "plumb sees no server here"},
		"down":                   {usual, func(m *watch.Moment) { m.Servers[0].Up, m.Verdicts = false, nil }, 0, Critical, "mysql:3306 does not answer"},
		"an old page":            {usual, func(m *watch.Moment) { m.Verdicts = nil }, 2 * time.Minute, Unknown, "the newest window is 2 min old"},
		"a clock that is behind": {usual, func(m *watch.Moment) { m.Verdicts = nil }, -2 * time.Minute, Unknown, "2 min ahead of this clock"},
		"an old, costly page":    {usual, func(m *watch.Moment) { raise(.9, m) }, 2 * time.Minute, Critical, "the newest window is 2 min old"},
		"an old point":           {Limits{Critical: .5, Late: time.Minute, Point: time.Minute}, func(m *watch.Moment) { m.Verdicts = nil }, 0, Critical, "newest point of mysql:3306 is 60 min old"},
		"never logged in to": {usual, func(m *watch.Moment) {
			m.Servers, m.Verdicts = append(m.Servers, watch.Server{Ref: stackRef("mysql", "3307")}), nil
		}, 0, Unknown, "plumb has never logged in to mysql:3307"},
		"a hostile name": {usual, func(m *watch.Moment) { m.Servers[0].Ref.Name = "a'|=1\n2;\x1b[31m"; m.Servers[0].Up = false }, 0, Critical, "never logged in to mysql:a'/=1"},
	} {
		t.Run(name, func(t *testing.T) {
			e, clock := madeExporter(t, Options{})
			e.picture.Find(stackRef("points", "mysql:3306")).Facts = nil // nothing of points fails
			m := madeMoment(clock.at)
			c.change(&m)
			e.Moment(m)
			if name == "no server" {
				e.met = nil
			}
			page := pageOf(t, e)
			line, state := Plugin(strings.NewReader(page), clock.at.Add(c.late), c.limits)
			if state != c.want || !strings.Contains(line, c.says) || !pluginLine.MatchString(line) {
				t.Errorf("got %s %q, want %s with %q", state, line, c.want, c.says)
			}
		})
	}
}

// TestPluginWithoutPoints: a server whose points are all lost is told of, the louder where an age was asked for.
func TestPluginWithoutPoints(t *testing.T) {
	for limit, want := range map[time.Duration]State{0: Warning, time.Hour: Critical} {
		e, clock := madeExporter(t, Options{})
		e.picture.Find(stackRef("points", "mysql:3306")).Facts = nil
		e.Checked(nil)
		lost := map[string]bool{}
		for _, p := range e.points {
			lost[p.ID] = true
		}
		e.Kept(e.points, lost)
		m := madeMoment(clock.at)
		m.Verdicts = []watch.Verdict{{ID: watch.Idle, Server: m.Servers[0].Ref}}
		e.Moment(m)
		line, state := Plugin(strings.NewReader(pageOf(t, e)), clock.at, Limits{Critical: .5, Late: time.Minute, Point: limit})
		if state != want || !strings.Contains(line, "no point of mysql:3306 is left") {
			t.Errorf("limit %s: got %s %q", limit, state, line)
		}
	}
}

func TestPluginThatIsWell(t *testing.T) {
	e, clock := madeExporter(t, Options{})
	e.picture.Find(stackRef("points", "mysql:3306")).Facts = nil
	e.Checked(nil)
	m := madeMoment(clock.at)
	m.Verdicts = []watch.Verdict{{ID: watch.Idle, Server: m.Servers[0].Ref}} // that it has little to do is no limit
	e.Moment(m)
	line, state := Plugin(strings.NewReader(pageOf(t, e)), clock.at, Limits{Critical: .5, Late: time.Minute})
	if state != OK || line != "PLUMB OK - no limit holds back any of 1 server (1 verdict unknown) | 'findings'=0;;\n" {
		t.Errorf("got %s %q", state, line)
	}
	clock.pass(2 * time.Second)
	if line, state = Plugin(strings.NewReader(pageOf(t, e)), clock.at, Limits{Late: time.Minute}); state != OK {
		t.Errorf("got %s %q", state, line)
	}
	clock.pass(10 * time.Second)
	if line, state = Plugin(strings.NewReader(pageOf(t, e)), clock.at, Limits{Late: time.Minute}); state != Warning || !strings.Contains(line, "no data from block, mysql:3306 status") {
		t.Errorf("got %s %q", state, line)
	}
}

// Points are asked of each server that has some, or is to have some. Ages are
// written in digits: a point of three weeks is no 1.8e+06.
func TestPluginAndPoints(t *testing.T) {
	const page = `plumb_build_info 1
plumb_moment_timestamp_seconds 0
plumb_server_up{server="mysql:3306"} 1
plumb_server_up{server="mysql:3307"} 1
plumb_server_up{server="mysql:3308"} 1
plumb_findings 0
plumb_points{server="mysql:3306"} 2
plumb_points_failing{server="mysql:3307"} 0
plumb_newest_point_age_seconds{server="mysql:3306"} 1814400
`
	limits := Limits{Critical: .5, Late: time.Minute, Point: 30 * 24 * time.Hour}
	for _, c := range []struct {
		page  string
		proof time.Duration
		want  string
	}{
		{page, 0, "PLUMB CRITICAL - no point of mysql:3307 is known | 'findings'=0;; 'point_age@mysql:3306'=1814400s;;2592000 'point_age@mysql:3307'=U;;2592000\n"},
		{strings.ReplaceAll(page, "plumb_points_failing", "other"), 0, "PLUMB OK - no limit holds back any of 3 servers | 'findings'=0;; 'point_age@mysql:3306'=1814400s;;2592000\n"},
		{strings.ReplaceAll(page, "plumb_points_failing", "other"), 24 * time.Hour, "PLUMB WARNING - no proven point of mysql:3306 is known | 'findings'=0;; 'point_age@mysql:3306'=1814400s;;2592000 'proven_point_age@mysql:3306'=U;;86400\n"},
		{strings.Split(page, "plumb_points")[0], 0, "PLUMB CRITICAL - no point of any server is known | 'findings'=0;;\n"},
	} {
		limits.Proof = c.proof
		if line, _ := Plugin(strings.NewReader(c.page), time.Unix(0, 0), limits); line != c.want {
			t.Errorf("got %q, want %q", line, c.want)
		}
	}
}

// TestPluginThatCannotTell: what nobody has looked at, or could, is not well.
func TestPluginThatCannotTell(t *testing.T) {
	const page = "plumb_build_info 1\nplumb_moment_timestamp_seconds 0\nplumb_server_up{server=\"mysql:3306\"} 1\nplumb_bottleneck_unknown{server=\"mysql:3306\"} 26\n"
	for more, want := range map[string]string{
		"plumb_findings 0\n": "PLUMB UNKNOWN - no verdict about mysql:3306 can be judged | 'findings'=0;;\n",
		"plumb_findings 0\nplumb_bottleneck{server=\"mysql:3306\",verdict=\"log/flush\"} 0\n": "PLUMB OK - no limit holds back any of 1 server (26 verdicts unknown) | 'findings'=0;;\n",
		"plumb_findings 0\nplumb_server_idle{server=\"mysql:3306\"} 1\n":                      "PLUMB OK - no limit holds back any of 1 server (26 verdicts unknown) | 'findings'=0;;\n",
		"plumb_server_idle{server=\"mysql:3306\"} 1\n":                                        "PLUMB UNKNOWN - plumb has not checked this host lately\n",
	} {
		if line, _ := Plugin(strings.NewReader(page+more), time.Unix(0, 0), Limits{Critical: .5, Late: time.Minute}); line != want {
			t.Errorf("%s: got %q, want %q", more, line, want)
		}
	}
}

// TestPluginWithoutTheWholePage: what is bad may stand in the part that was not read.
func TestPluginWithoutTheWholePage(t *testing.T) {
	page := "plumb_build_info 1\nplumb_moment_timestamp_seconds 0\nplumb_server_up{server=\"mysql:3306\"} 1\n"
	page += strings.Repeat("# "+strings.Repeat("x", 1021)+"\n", mostPage/1024) + "plumb_server_up{server=\"mysql:3307\"} 0\n"
	line, state := Plugin(strings.NewReader(page), time.Unix(0, 0), Limits{Critical: .5, Late: time.Minute})
	if state != Unknown || !strings.Contains(line, "longer than 8M: plumb watch metrics --max-series N") {
		t.Errorf("got %s %q", state, line)
	}
}

// What is no page of ours is unknown, and never fine.
func FuzzPlugin(f *testing.F) {
	f.Add("")
	f.Add("plumb_build_info 1\n")
	f.Add("plumb_build_info 1\nplumb_moment_timestamp_seconds NaN\nplumb_server_up{server=\"a|b\\n\"} 0\n")
	f.Add("plumb_build_info 1\nplumb_bottleneck{server=\"a\",verdict=\"b'=\"} 1\nplumb_bottleneck_share_low_ratio{server=\"a\",verdict=\"b'=\"} +Inf\n")
	f.Fuzz(func(t *testing.T, page string) {
		line, state := Plugin(strings.NewReader(page), time.Unix(0, 0), Limits{})
		if strings.Count(line, "\n") != 1 || state < OK || state > Unknown || !strings.HasPrefix(line, "PLUMB "+state.String()+" - ") {
			t.Errorf("got %q", line)
		}
		if state == OK && !strings.Contains(page, "plumb_build_info") {
			t.Errorf("all is well with %q", page)
		}
	})
}
