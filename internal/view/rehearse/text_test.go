package rehearse

import (
	"os"
	"strings"
	"testing"
	"time"

	"plumb/internal/lab"
	"plumb/internal/lab/experiment"
	"plumb/internal/rehearse"
	"plumb/internal/rehearse/runner"
	"plumb/internal/stats"
	labview "plumb/internal/view/lab"
	"plumb/internal/view/page"
	"plumb/internal/view/schema"
	"plumb/internal/view/viewtest"
)

func rehearsals() map[string]rehearse.Result {
	none := rehearse.Result{Ended: "there is nothing to do"}
	same := sampleRehearsal()
	same.All = rehearse.Verdict{Word: rehearse.NoDifference, Within: 0.05, Rate: part(0.001, -0.02, 0.02), P99: part(0, -0.01, 0.01)}
	same.Proposal.Stages[1].Experiment.Arms[1].Name = rehearse.AllAdvice
	with := sampleRehearsal()
	with.Proposal.Steps[3].Left = "--max-time leaves no time to try it by itself"
	v := &with.Steps[3]
	v.Word, v.More, v.Keep, v.Rate, v.Costs, v.Why = rehearse.WithAll, 0, true, stats.Estimate{}, nil, "kept: "+rehearse.Proven+"; together they gain 142 % more transactions a second (+120 to +166 %)"
	return map[string]rehearse.Result{"together": with, "done": sampleRehearsal(), "interrupted": interruptedRehearsal(), "nothing": nothingTried(), "broken": brokenRehearsal(), "refused": refusedRehearsal(), "empty": none, "same": same}
}

func TestRehearsalPages(t *testing.T) {
	next := "plumb rehearse --plan keeps.json writes what is kept; plumb fix keeps.json applies it"
	for name, r := range rehearsals() {
		viewtest.Golden(t, "rehearse-"+name+".txt", Text(r, viewtest.Units(), page.Screen{Width: 80}, next))
	}
	viewtest.Golden(t, "rehearse-wide.txt", Text(sampleRehearsal(), viewtest.Units(), page.Screen{Width: 120}, next))
	viewtest.Golden(t, "rehearse-40.txt", Text(sampleRehearsal(), viewtest.Units(), page.Screen{Width: 40}))
	viewtest.Golden(t, "rehearse-plan.txt", Plan(rehearsalPlan(), viewtest.Units(), page.Screen{Width: 80}))
}

func rehearsalPlan() runner.Forecast {
	return runner.Forecast{Proposal: sampleRehearsal().Proposal, Least: 9 * time.Minute, Most: 14 * time.Minute, Budget: 15 * time.Minute,
		Needs: []string{"disk: 4G below /var/lib", "memory: 1G for the server of a trial"}}
}

func TestRehearsalFitsTheScreen(t *testing.T) {
	for _, w := range []int{60, 80, 100, 120} {
		s := page.Screen{Width: w}
		texts := map[string]string{"plan": Plan(rehearsalPlan(), viewtest.Units(), s)}
		for name, r := range rehearsals() {
			texts[name] = Text(r, viewtest.Units(), s)
		}
		for name, text := range texts {
			viewtest.Fits(t, name, text, w)
		}
	}
}

func TestRehearsalIsPlainWhenAsked(t *testing.T) {
	r := sampleRehearsal()
	r.Steps[2].Why, r.Proposal.Says[0], r.Proposal.Title, r.Ended = "\x1b[2J\u202e", "\x1b[2J", "\x1b[1m", "\x1b"
	for _, text := range []string{Text(r, viewtest.Units(), page.Screen{Width: 100, ASCII: true}), Plan(runner.Forecast{Proposal: r.Proposal}, viewtest.Units(), page.Screen{ASCII: true}),
		Progress("\x1b", lab.Progress{Doing: "measuring"})} {
		viewtest.IsASCII(t, text)
	}
}

func TestRehearsalProgress(t *testing.T) {
	s := lab.Progress{Trial: experiment.Trial{Block: 2, Arm: "as is"}, Number: 3, Total: 8, Doing: "measuring", Elapsed: 4 * time.Second, Of: 15 * time.Second}
	if got, want := Progress("all advice", s), "all advice: block 2, trial 3 of 8 (as is): measuring 4 of 15 s"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if Progress("", s) != labview.Progress(s) {
		t.Error("without a stage it is the lab's own line")
	}
}

func TestScaleText(t *testing.T) {
	for scale, want := range map[float64]string{0: "", 1: "", 1.5: "", 0.97: "", 0.5: "a sandbox of 1/2 its size", 0.125: "a sandbox of 1/8 its size", 0.37: "a sandbox of 37 % its size", 0.0104: "a sandbox of 1/96 its size"} {
		if got := scaleText(scale); got != want {
			t.Errorf("%g: %q, want %q", scale, got, want)
		}
	}
}

func TestSentenceOf(t *testing.T) {
	for text, want := range map[string]string{"": "", "not tried": "Not tried.", "innodb_io_capacity is what it was": "innodb_io_capacity is what it was.", "vm.swappiness stays": "vm.swappiness stays.",
		"it ends. so": "It ends. so.", "−5 % is noise": "−5 % is noise.", "élan": "Élan.", "Kept: yes!": "Kept: yes!"} {
		if got := sentenceOf(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestRehearsalDocumentFitsItsSchema(t *testing.T) {
	schema := schema.Of("rehearse")
	for name, r := range rehearsals() {
		b, err := page.JSON(Document(r, "devel"))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		viewtest.Validate(t, schema, b)
		if name == "done" {
			viewtest.Golden(t, "rehearse.json", string(b))
		}
	}
}

// TestRehearsalHTML looks at what must hold of every page. With
// PLUMB_LAB_SAMPLE it leaves the pages there, to be looked at.
func TestRehearsalHTML(t *testing.T) {
	all := rehearsals()
	all["hostile"] = hostileRehearsal()
	found, searched := foundNumbers(), sampleRehearsal()
	searched.Search = &found
	all["searched"] = searched
	for name, r := range all {
		t.Run(name, func(t *testing.T) {
			page, err := HTML(r, viewtest.Units(), labview.About{Version: "devel", Machine: []string{"2 processors", "Linux 6.12"}, Command: "plumb rehearse --max-time 15m"})
			if err != nil {
				t.Fatal(err)
			}
			if dir := os.Getenv("PLUMB_LAB_SAMPLE"); dir != "" {
				if err := os.WriteFile(dir+"/rehearse-"+name+".html", page, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			viewtest.AloneAndWhole(t, page)
			for _, bad := range []string{"<script", "<img", `" onload`} {
				if strings.Contains(string(page), bad) {
					t.Errorf("the page has %q", bad)
				}
			}
			if n := strings.Count(string(page), "alert(1)"); name == "hostile" && n < 8 {
				t.Errorf("the texts are shown %d times only", n)
			}
		})
	}
}

// hostileRehearsal comes from a server that wants to get at the reader.
func hostileRehearsal() rehearse.Result {
	r := sampleRehearsal()
	r.Proposal.Title, r.Proposal.Says[0], r.Proposal.Server.Name, r.Ended, r.All.Failed = viewtest.HostileText, viewtest.HostileText, viewtest.HostileText, viewtest.HostileText, viewtest.HostileText
	r.Steps[0].Why, r.Steps[4].Failed, r.Steps[0].Arm = viewtest.HostileText, viewtest.HostileText, viewtest.HostileText
	r.Steps[0].Step.Knob.Name, r.Steps[1].Step.Because, r.Steps[2].Step.Why = viewtest.HostileText, viewtest.HostileText, nil
	r.Steps[6].Step.Left, r.Proposal.Stages[0].Name = viewtest.HostileText, viewtest.HostileText
	r.Reports[0].Experiment.Text, r.Reports[0].Experiment.Name, r.Reports[0].Experiment.Hash = []byte(viewtest.HostileText), viewtest.HostileText, viewtest.HostileText
	return r
}
