package series

import "testing"

func TestUnlisted(t *testing.T) {
	n := func(v float64) *float64 { return &v }
	all := Statement{Calls: 10, Seconds: 5, Examined: n(100)}
	listed := []Statement{{Calls: 4, Seconds: 1, Examined: n(30)}, {Calls: 1, Seconds: 1, Examined: n(20)}}
	rest, some := Unlisted(all, listed)
	if !some || rest.ID != "unlisted" || !rest.Rest || rest.Calls != 5 || rest.Seconds != 3 || *rest.Examined != 50 || rest.Bytes != nil {
		t.Errorf("%+v, %v", rest, some)
	}
	if *all.Examined != 100 {
		t.Error("the total was changed")
	}
	if _, some := Unlisted(all, append(listed, Statement{Calls: 6})); some { // they went on meanwhile
		t.Error("less than nothing is left")
	}
}
