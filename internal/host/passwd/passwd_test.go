package passwd

import "testing"

const text = "root:x:0:0:root:/root:/bin/bash\n+\nbroken:x:-1:7::/:\nnobody:x:many:7::/:\nshort:x:105\nmysql:x:105:110::/nonexistent:/bin/false\ntoor:x:0:0::/:/bin/sh\nlast:x:4:5::/home/last:"

func TestUsers(t *testing.T) {
	for name, want := range map[string]User{"root": {"root", 0, 0, "/root"}, "mysql": {"mysql", 105, 110, "/nonexistent"}, "last": {"last", 4, 5, "/home/last"}} {
		if u, is := Named([]byte(text), name); !is || u != want {
			t.Errorf("%s: %+v, %v", name, u, is)
		}
		if u, is := Numbered([]byte(text), want.UID); !is || u != want {
			t.Errorf("%d: %+v, %v", want.UID, u, is)
		}
	}
	for _, name := range []string{"", "+", "broken", "nobody", "short", "mysq", "sql"} {
		if u, is := Named([]byte(text), name); is {
			t.Errorf("%q: %+v", name, u)
		}
	}
	for _, uid := range []int{-1, 1, 7} {
		if u, is := Numbered([]byte(text), uid); is {
			t.Errorf("%d: %+v", uid, u)
		}
	}
}

func FuzzUsers(f *testing.F) {
	f.Add([]byte(text), "mysql")
	f.Fuzz(func(t *testing.T, text []byte, name string) {
		if u, is := Named(text, name); is {
			if first, is := Numbered(text, u.UID); u.Name != name || !is || first.UID != u.UID || u.UID < 0 {
				t.Errorf("%q is %+v, and user %d is %+v", name, u, u.UID, first)
			}
		}
	})
}
