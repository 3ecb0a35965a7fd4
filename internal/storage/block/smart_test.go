package block

import (
	"context"
	"errors"
	"strings"
	"testing"

	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/stack"
)

// The answers are shortened from what smartctl 7.3 and 7.4 print.
const (
	smartATA = `{"json_format_version":[1,0],"smartctl":{"version":[7,3],"exit_status":0},"device":{"name":"/dev/sda","type":"sat","protocol":"ATA"},
"smart_status":{"passed":true},"ata_smart_attributes":{"revision":16,"table":[
{"id":5,"name":"Reallocated_Sector_Ct","value":100,"worst":100,"thresh":10,"when_failed":"","raw":{"value":17179869196,"string":"12 (0 4)"}},
{"id":187,"name":"Reported_Uncorrect","value":100,"worst":100,"thresh":0,"when_failed":"","raw":{"value":16,"string":"16"}},
{"id":194,"name":"Temperature_Celsius","value":70,"worst":63,"thresh":20,"when_failed":"","raw":{"value":158914576414,"string":"30 (Min/Max 12/37)"}},
{"id":197,"name":"Current_Pending_Sector","value":100,"worst":100,"thresh":0,"when_failed":"","raw":{"value":3,"string":"3"}}]}}`
	smartFailing = `{"smartctl":{"exit_status":24},"smart_status":{"passed":false},"ata_smart_attributes":{"table":[]}}`
	smartSAS     = `{"device":{"protocol":"SCSI"},"smart_status":{"passed":true},"scsi_grown_defect_list":2,
"scsi_error_counter_log":{"read":{"total_uncorrected_errors":1,"gigabytes_processed":"123.4"},"write":{"total_uncorrected_errors":0}}}`
	smartAsleep = `{"smartctl":{"messages":[{"string":"Device is in STANDBY mode, exit(2)","severity":"information"}],"exit_status":2},"device":{"name":"/dev/sda"}}`
)

func TestParseSmart(t *testing.T) {
	absent := stack.Value{}
	for _, c := range []struct {
		name, text string
		want       map[string]stack.Value
	}{
		{"ATA", smartATA, map[string]stack.Value{"smart_passed": stack.Bool(true), "smart_pending": stack.Int(3), "smart_reallocated": stack.Int(12), "smart_uncorrected": stack.Int(16)}},
		{"failing", smartFailing, map[string]stack.Value{"smart_passed": stack.Bool(false), "smart_pending": absent}},
		{"never counts down", strings.Replace(smartATA, "Current_Pending_Sector", "Total_Pending_Sectors", 1), map[string]stack.Value{"smart_pending": absent, "smart_reallocated": stack.Int(12)}},
		{"SAS", smartSAS, map[string]stack.Value{"smart_passed": stack.Bool(true), "smart_pending": absent, "smart_reallocated": stack.Int(2), "smart_uncorrected": stack.Int(1)}},
	} {
		s, err := parseSmart([]byte(c.text))
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		d := stack.NewThing("block", "sda")
		s.set(d, "test")
		for fact, want := range c.want {
			if f, known := d.Facts[fact]; !known || !f.Value.Equal(want) {
				t.Errorf("%s: %s = %v (known %v), want %v", c.name, fact, f.Value, known, want)
			}
		}
	}
	for _, text := range []string{"", "{}", `{"smartctl":{"messages":[{"string":"/dev/sda: Unknown USB bridge","severity":"error"}]}}`, "not json"} {
		if s, err := parseSmart([]byte(text)); err == nil {
			t.Errorf("%q gives %+v", text, s)
		}
	}
}

// answering gives an answer and an error for every command, as smartctl does.
type answering struct {
	hosttest.Map
	text string
	err  error
}

func (a answering) Output(context.Context, ...string) ([]byte, error) { return []byte(a.text), a.err }

// looked gives what is known of a disk whose smartctl gives an answer.
func looked(text string, err error) (*stack.Thing, []stack.Gap) {
	d := device{h: answering{hosttest.Map{Who: host.About{Root: true}}, text, err}, name: "sda", dir: "/sys/class/block/sda"}
	d.thing = d.obs.New("block", "sda")
	d.thing.Set("transport", stack.Text("ata"), "test")
	d.thing.Set("virtual_disk", stack.Bool(false), "test")
	d.smart(context.Background())
	return d.thing, d.obs.Gaps
}

// A drive whose motor is off is not asked, and that is no health of 0.
func TestSmartLeavesASleepingDriveAlone(t *testing.T) {
	d, gaps := looked(smartAsleep, errors.New("exit status 2"))
	if _, known := d.Facts["smart_pending"]; known || len(gaps) != 1 || gaps[0].Why != "its motor is off, and a query would start it" {
		t.Errorf("facts %v, gaps %v", d.Facts, gaps)
	}
}

// smartctl tells of an ill drive with an exit status, too.
func TestSmartReadsAnIllDrive(t *testing.T) {
	d, gaps := looked(smartFailing, errors.New("exit status 24"))
	if passed, known := d.Bool("smart_passed"); !known || passed || len(gaps) != 0 {
		t.Errorf("passed %v (known %v), gaps %v", passed, known, gaps)
	}
}

func FuzzParseSmart(f *testing.F) {
	for _, seed := range []string{smartATA, smartFailing, smartSAS, smartAsleep} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(_ *testing.T, data []byte) {
		if s, err := parseSmart(data); err == nil {
			s.set(stack.NewThing("block", "x"), "fuzz")
		}
	})
}
