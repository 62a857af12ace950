package sqlite

import (
	"strings"
	"testing"
)

func TestTheSessionUsedLastIsUsedNext(t *testing.T) {
	d, _ := open(t, Options{Path: tempFile(t)})
	take := func() *session {
		t.Helper()
		s, err := d.db.take(t.Context(), d.db.readers, readerSetup)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	first, last := take(), take()
	if first == last {
		t.Fatal("two use one session at once")
	}
	d.db.readers.giveBack(first, false)
	d.db.readers.giveBack(last, false)
	got := take()
	d.db.readers.giveBack(got, true)
	if got != last {
		t.Error("not the session used last")
	}
	next := take()
	d.db.readers.giveBack(next, false)
	if next == got || next != first && next != last {
		t.Error("a broken session, or one more, instead of the one that is open")
	}
}

func TestGrantsOfSubjectsAreReadFromTheIndexAlone(t *testing.T) {
	d, _ := open(t, Options{Path: tempFile(t)})
	if plan := planOf(t, d.db, grantsOfSubjects); !strings.Contains(plan, "COVERING INDEX AuthzGrant_subject") || strings.Contains(plan, "TEMP B-TREE") {
		t.Error(plan)
	}
}
