package edit

import (
	"errors"
	"testing"
)

// Two edits of one file are taken back, the first one first.
func TestRevertTheFirstOfTwo(t *testing.T) {
	type set struct{ key, value string }
	for _, c := range []struct {
		name        string
		form        Form
		text        string
		a, b        set
		withoutA    string
		withoutBoth string
	}{
		{"lines at the end", Sysctl, "x=1\n", set{"a.b", "1"}, set{"c.d", "2"}, "x=1\nc.d = 2\n", "x=1\n"},
		{"no line end before", Sysctl, "x=1", set{"a.b", "1"}, set{"c.d", "2"}, "x=1\nc.d = 2\n", "x=1\n"},
		{"no line end before, CRLF", Sysctl, "w=1\r\nx=1", set{"a.b", "1"}, set{"c.d", "2"}, "w=1\r\nx=1\r\nc.d = 2\r\n", "w=1\r\nx=1\r\n"},
		{"the last line, no line end", Sysctl, "x=1", set{"x", "2"}, set{"c.d", "2"}, "x=1\nc.d = 2\n", "x=1\n"},
		{"a line above", Sysctl, "x=1\ny=1\n", set{"x", "2"}, set{"y", "2"}, "x=1\ny=2\n", "x=1\ny=1\n"},
		{"in the group that the first made", OptionFile, "[client]\nuser=x\n", set{"mysqld/a", "1"}, set{"mysqld/b", "2"},
			"[client]\nuser=x\n\n[mysqld]\nb = 2\n", "[client]\nuser=x\n\n[mysqld]\n"},
		{"on the same line", Modprobe, "options zfs a=1 b=1 # x\n", set{"zfs/a", "2"}, set{"zfs/b", "2"}, "options zfs a=1 b=2 # x\n", "options zfs a=1 b=1 # x\n"},
		{"below the key that the first made", Mongod, "systemLog:\n  path: /l\n", set{"net.port", "1"}, set{"net.bindIp", "::1"},
			"systemLog:\n  path: /l\nnet:\n  bindIp: '::1'\n", "systemLog:\n  path: /l\n"},
		{"below two keys that the first made", Mongod, "# x\n", set{"a.b.c", "1"}, set{"a.b.d", "2"}, "# x\na:\n  b:\n    d: 2\n", "# x\n"},
		{"in the section that the first made", Unit, "", set{"Service/A", "1"}, set{"Service/B", "2"}, "[Service]\nB=2\n", "[Service]\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			one, err := Set(c.form, []byte(c.text), c.a.key, c.a.value)
			two, err2 := Set(c.form, one, c.b.key, c.b.value)
			if err := errors.Join(err, err2); err != nil {
				t.Fatal(err)
			}
			first, second := Diff([]byte(c.text), one), Diff(one, two)
			left, err := Revert(c.form, first, two, c.a.key)
			if err != nil || string(left) != c.withoutA {
				t.Fatalf("without the first: %q, %v", left, err)
			}
			none, err := Revert(c.form, second, left, c.b.key)
			if err != nil || string(none) != c.withoutBoth {
				t.Errorf("without both: %q, %v", none, err)
			}
			back, err := Revert(c.form, second, two, c.b.key)
			if err == nil {
				back, err = Revert(c.form, first, back, c.a.key)
			}
			if err != nil || string(back) != c.text {
				t.Errorf("in reverse order: %q, %v", back, err)
			}
		})
	}
}

// What somebody else did meanwhile stays; where it cannot be told what was
// ours, nothing is done.
func TestRevertAfterOthers(t *testing.T) {
	for _, c := range []struct {
		name               string
		form               Form
		before, key, value string
		now, want          string // want "": drifted
	}{
		{"the line moved to another group", OptionFile, "[client]\nport=1\n[mysqld]\nport=2\n", "mysqld/port", "1",
			"[client]\nport=1\n[mysqld]\nport=3\n", ""},
		{"the equal line above went", OptionFile, "[client]\nport=1\n[mysqld]\nport=2\n", "mysqld/port", "1",
			"[client]\n[mysqld]\nport=1\n", "[client]\n[mysqld]\nport=2\n"},
		{"a comment came", Sysctl, "a.b = 1\n", "a.b", "2", "# ours\na.b = 2\n", "# ours\na.b = 1\n"},
		{"a comment came on the line", Sysctl, "a.b = 1\n", "a.b", "2", "-a.b = 2\n", "-a.b = 1\n"},
		{"the value changed", Sysctl, "a.b = 1\n", "a.b", "2", "a.b = 3\n", ""},
		{"a later line wins", Sysctl, "a.b = 1\n", "a.b", "2", "a.b = 2\na.b = 3\n", "a.b = 1\na.b = 3\n"},
		{"a line end came", Sysctl, "a.b = 1", "a.b", "2", "a.b = 2\n", "a.b = 1"},
		{"the line end went", Sysctl, "x = 1\n", "a.b", "2", "y = 1\na.b = 2", "y = 1\n"},
		{"our line went", Sysctl, "x = 1\n", "a.b", "2", "y = 1\n", ""},
		{"others below our group", OptionFile, "[client]\nuser=x\n", "mysqld/a", "1", "[client]\nuser=y\n\n[mysqld]\na = 1\nb=2\n", "[client]\nuser=y\n\n[mysqld]\nb=2\n"},
		{"the file is broken now", Postgresql, "a = 1\n", "a", "2", "a = 2\nb = = 3\n", "a = 1\nb = = 3\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			after, err := Set(c.form, []byte(c.before), c.key, c.value)
			if err != nil {
				t.Fatal(err)
			}
			out, err := Revert(c.form, Diff([]byte(c.before), after), []byte(c.now), c.key)
			if c.want == "" && !errors.Is(err, ErrDrifted) || c.want != "" && (err != nil || string(out) != c.want) {
				t.Errorf("%q, %v", out, err)
			}
		})
	}
	if _, err := Revert("ini", Splice{}, nil, "a"); err == nil {
		t.Error("an unknown form is understood")
	}
}

// A deletion is taken back where the two lines still stand together.
func TestRevertDeletion(t *testing.T) {
	s := Diff([]byte("a\nb\nc\nd\n"), []byte("a\nc\nd\n"))
	for now, want := range map[string]string{
		"a\nc\nd\n": "a\nb\nc\nd\n", "x\na\nc\n": "x\na\nb\nc\n", "a\nx\nc\n": "", "a\nc\na\nc\n": "", "": "",
	} {
		got, err := s.Revert([]byte(now))
		if want == "" && !errors.Is(err, ErrDrifted) || want != "" && (err != nil || string(got) != want) {
			t.Errorf("%q: %q, %v", now, got, err)
		}
	}
}
